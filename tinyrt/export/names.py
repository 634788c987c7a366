"""Names that exported files and their C code give to models, memories and sections."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tinyrt.errors import UnsupportedError
from tinyrt.export.rendering import CFile


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_IDENTIFIER = 100
"""Most characters of a model's name in C; names of files and functions add to it."""

HEADERS = _words(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn
    string tgmath threads time uchar wchar wctype aio aliases alloca ar argp argz byteswap
    cpio crypt devctl dirent dlfcn elf endian envlock envz err error execinfo fastmath fcntl
    features fmtmsg fnmatch fpu_control fstab fts ftw gconv getopt glob gnu grp gshadow iconv
    ieee754 ieeefp ifaddrs langinfo lastlog libgen libintl link malloc mcheck memory mntent
    monetary mqueue netdb newlib nl_types nss obstack paths picolibc picotls poll printf process
    proc_service pthread pty pwd re_comp reent regdef regex regexp resolv sched search semaphore
    semihost sgtty shadow spawn stab stdfix stdio_ext strings syscall sysexits syslimits syslog
    tar termio termios thread_db ttyent ucontext ulimit unctrl unistd unwind utime utmp utmpx
    values varargs wait wordexp xlocale acc_prof arm_acle arm_bf16 arm_cde arm_cmse arm_fp16
    arm_mve arm_mve_types arm_neon cet cpuid cxxabi gcov mm3dnow mm_malloc omp openacc quadmath
    tbb
    """
)
"""Headers of the C library and the compiler, which a file of the same name would hide."""

BUILD_TARGETS = _words(
    """
    all clean depend edit_cache help install list_install_components package package_source
    rebuild_cache test
    """
)
"""Names of targets that CMake and make define."""

LIBRARIES = _words(
    """
    c g gcc gloss m nosys rdimon semihost
    """
)
"""Libraries of the system that ``-l`` would find instead."""

OWN_PREFIXES = ("tinyrt", "harness")
"""Beginnings of names of the kernels and of the test harness."""


def identifier(text: str) -> str:
    """``text`` as a C identifier in lower case: ``My Model-2`` becomes ``my_model_2``.

    It serves as a prefix, as a file name and as a library's name. So it must not look like a kernel
    or hide a header or library of the system. A name that is too long is cut and ends in a digest,
    so that different names stay different.
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "model"
    if len(name) > MAX_IDENTIFIER:
        name = f"{name[: MAX_IDENTIFIER - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    used = name in HEADERS or name in BUILD_TARGETS or name in LIBRARIES
    if not name[0].isalpha() or name.startswith(OWN_PREFIXES) or name.endswith("intrin") or used:
        name = f"model_{name}"
    return name


PREFIX = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_?")
MAX_PREFIX = 40
"""Most characters of a prefix."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that the user wants.

    Attributes:
        name: of the model; None for that of its file.
        prefix: what stands before the names of models and libraries; None for nothing.

    """

    name: str | None = None
    prefix: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None and identifier(self.name) != self.name:
            raise UnsupportedError(
                f"a model cannot be called '{self.name}'",
                expected=f"at most {MAX_IDENTIFIER} lower-case letters, digits and single "
                "underscores, a letter first, and no name that compilers or build tools know",
                hint=f"'{identifier(self.name)}' would do",
            )
        prefix = self.prefix
        wrong = prefix is not None and (
            not PREFIX.fullmatch(prefix)
            or len(prefix) > MAX_PREFIX
            or prefix.startswith(OWN_PREFIXES)
        )
        if wrong:
            raise UnsupportedError(
                f"'{prefix}' cannot be the prefix of a name",
                expected=f"at most {MAX_PREFIX} lower-case letters, digits and single underscores, "
                f"a letter first, and no beginning of {' or '.join(OWN_PREFIXES)}",
            )

    def model(self, own: str) -> str:
        """The name in C of a model that calls itself ``own``.

        Raises:
            UnsupportedError: with the prefix it is one that compilers or build tools know.

        """
        return self._prefixed(self.name or identifier(own))

    def library(self, folder: Path) -> str:
        """The name of the library of several models in a folder; raises as ``model``."""
        return self._prefixed(identifier(folder.resolve().name))

    def _prefixed(self, name: str) -> str:
        if self.prefix is None:
            return name
        start = self.prefix.removesuffix("_")
        whole = identifier(f"{start}_{name}")
        if not whole.startswith(f"{start}_"):
            raise UnsupportedError(
                f"with prefix '{self.prefix}', '{name}' is a name that compilers or build tools "
                "know",
                expected=f"another prefix or name than those of '{start}_{name}'",
            )
        return whole


OWN_NAMES = Naming()
"""Each model is called as its file is."""


def add_files(files: dict[str, CFile], more: Mapping[str, CFile], of: str) -> None:
    """Add files to those of other models, unless two files or two of their macros clash.

    Args:
        files: the files so far.
        more: the files to add.
        of: the model that ``more`` belongs to, for messages.

    Raises:
        UnsupportedError: two files or macros have the same name, regardless of case.

    """
    by_lower = {name.lower(): name for name in files}
    macros = {macro for file in files.values() for macro in file.macros}
    for name, file in more.items():
        other = by_lower.get(name.lower())
        twice = min(macros & file.macros, default=None)
        if other is not None or twice is not None:
            what = f"a file '{name}'" if other is not None else f"a macro '{twice}'"
            raise UnsupportedError(
                f"'{of}' has {what}, and so has another model of the project",
                expected="models, and a folder, whose names differ, and not by _weights or _arena",
                hint="rename one of the models, or the folder",
            )
    files |= more


KEYWORDS = _words(
    """
    alignas alignof asm auto bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield concept const const_cast consteval constexpr constinit continue decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept nullptr operator private protected
    public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while
    """
)
"""Of C and C++, whose compilers read the model's header."""

MACROS = _words(
    """
    and and_eq bitand bitor compl complex environ errno h_addr h_errno i386 imaginary linux
    math_errhandling near far noreturn not not_eq null or or_eq stderr stdin stdout unix xor
    xor_eq d_fileno s6_addr s6_addr16 s6_addr32 sa_handler sa_sigaction sched_priority
    sigev_notify_attributes sigev_notify_function
    """
)
"""In lower case, of C libraries and compilers; those that begin with ``si_`` or ``st_`` aside."""

OWN_VARIABLES = re.compile(r"io|state|(input|output)_[0-9]+(_row)?")
"""Variables and macros of the generated code that a region's name would hide."""

REGION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
SECTION = re.compile(r"[A-Za-z0-9._$]{1,64}")


def check_regions(names: Iterable[str], alone: str) -> None:
    """Check that names of memory regions are valid in C and differ from each other.

    Args:
        names: the regions' names.
        alone: a name that only a single region may have.

    Raises:
        UnsupportedError: a name cannot be a C name, or stands twice.

    """
    by_lower: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        if not REGION.fullmatch(name):
            raise UnsupportedError(
                f"'{name}' cannot name a memory region",
                expected="at most 32 letters, digits and underscores, with a letter first",
            )
        if lower in KEYWORDS | MACROS or lower.startswith(("si_", "st_")):
            raise UnsupportedError(
                f"a memory region cannot be called '{name}': that means something in C or C++",
                expected="a name that is no keyword and no macro, such as sram or dtcm",
            )
        if OWN_VARIABLES.fullmatch(lower):
            raise UnsupportedError(
                f"a memory region cannot be called '{name}': the generated code has such a name",
                expected="another name than io, state, input_0 and the like",
            )
        if lower in by_lower:
            raise UnsupportedError(
                f"two memory regions are called '{by_lower[lower]}' and '{name}'",
                expected="names that differ in more than upper and lower case",
            )
        by_lower[lower] = name
    if len(by_lower) > 1 and alone in by_lower:
        raise UnsupportedError(
            f"one of several memory regions cannot be called '{alone}': all together are",
            expected="another name, such as sram or dtcm",
        )


def check_section(name: str) -> None:
    """Check that a linker section can have that name.

    Raises:
        UnsupportedError: it cannot.

    """
    if not SECTION.fullmatch(name):
        raise UnsupportedError(
            f"'{name}' cannot name a section",
            expected="at most 64 letters, digits, dots, underscores and dollars",
        )
