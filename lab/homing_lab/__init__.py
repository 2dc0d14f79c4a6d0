"""The lab: virtual NUMA machines that anybody can boot, and that count who served each access."""
