"""Debian's AArch64 kernel as the lab boots it: one that says `DC ZVA is prohibited here`.

DC ZVA writes zeroes into a whole line. QEMU does that in one step of its own, which plugins do not
see, so pages that the kernel zeroes and large memsets would be missing from the counts. Whoever
obeys the architecture asks DCZID_EL0 first, and uses stores where its DZP bit is set. So the kernel
must take that bit for set, and let programs read it so (SCTLR_EL1.DZE is 0). Two kinds of
instructions change, nothing else.

Source: Arm Architecture Reference Manual, DCZID_EL0 and SCTLR_EL1; Linux, arch/arm64/mm/proc.S."""

from __future__ import annotations

from array import array

from .errors import LabError

MRS_DCZID, REGISTER = 0xD53B00E0, 0x1F  # mrs xN, dczid_el0
MOVZ_PROHIBITED = 0xD2800000 | 0x14 << 5  # movz xN, #0x14: DZP, and 64 bytes as QEMU has
MOVK, MOVK_16, MOVK_MASK = 0xF2800000, 0xF2A00000, 0xFFE00000  # movk xN, #imm[, lsl #16]
RET = 0xD65F03C0
# The low half of what __cpu_setup returns for SCTLR_EL1: MMU, caches, and DC ZVA for programs.
ENABLED, DZE = 0x9005, 0x4000
HINT = "HOMING_LAB_KERNEL=FILE names a kernel of your own; then DC ZVA is not counted"


def without_zeroing_by_line(image: bytes) -> bytes:
    """The image, changed; LabError if it is none that we know."""
    if image[56:60] != b"ARM\x64":
        raise LabError("Debian's AArch64 kernel: expected an uncompressed Image", HINT)
    words = array("I", image[: len(image) // 4 * 4])
    asked = set_up = 0
    for place, word in enumerate(words):
        if word & ~REGISTER == MRS_DCZID:
            words[place] = MOVZ_PROHIBITED | word & REGISTER
            asked += 1
        elif word == RET and place >= 2 and _is_set_up(words[place - 2], words[place - 1]):
            words[place - 1] &= ~(DZE << 5)
            set_up += 1
    if asked == 0 or set_up != 1:
        raise LabError(
            f"Debian's AArch64 kernel has {asked} questions for DC ZVA and {set_up} settings of "
            "SCTLR_EL1; expected some, and one",
            HINT,
        )
    return words.tobytes() + image[len(words) * 4 :]


def _is_set_up(high: int, low: int) -> bool:
    value = low >> 5 & 0xFFFF
    same = high & REGISTER == low & REGISTER == 0
    needed = ENABLED | DZE
    return (
        same
        and high & MOVK_MASK == MOVK_16
        and low & MOVK_MASK == MOVK
        and value & needed == needed
    )
