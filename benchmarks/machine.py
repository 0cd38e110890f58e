"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path


def processor() -> str:
    """Its name, where the system gives one."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
