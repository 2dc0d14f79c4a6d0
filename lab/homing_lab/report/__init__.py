"""`homing lab report`: runs of the lab as one page, a picture, or figures."""
