"""The members of a tar file that belong to studies, read once and never written to disk."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from dbtool.sources.archive.members import Member, UnreadableError, named_member
from dbtool.sources.base import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.sources.archive.stream import Stream

_REFUSED = {
    tarfile.LNKTYPE: "it is a hard link",
    tarfile.SYMTYPE: "it is a symbolic link",
    tarfile.CHRTYPE: "it is a character device",
    tarfile.BLKTYPE: "it is a block device",
    tarfile.FIFOTYPE: "it is a named pipe",
}
_PLAIN = {tarfile.REGTYPE, tarfile.DIRTYPE}
_EXTENSIONS = {
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}
_MOST_EXTENSION = 1 << 20  # bytes of a long name or of extended attributes
# Nothing comes after a member of this size: skipping it would take hours.
_HOPELESS = 1 << 36


class _Header(tarfile.TarInfo):
    """A header; reading fails where it is damaged, instead of ending the archive there."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        plain = cls._plain(bytes(buf))
        if plain is not None:
            return plain
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if any(buf):
                raise tarfile.ReadError(str(error)) from error
            raise  # the end mark
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > _MOST_EXTENSION):
            raise tarfile.ReadError(f"a header claims {header.size} bytes")
        return header

    @classmethod
    def _plain(cls, header: bytes) -> Self | None:
        """Return a sound header of a file or folder with a short name; None: look closer.

        Archives have hundreds of thousands of these, and the library takes ten times as long.
        """
        name, size, checksum = (header[:100], header[124:136], header[148:156])
        name, size, found = (part.rstrip(b"\0 ") for part in (name, size, checksum))
        kind = header[156:157]
        is_plain = kind in _PLAIN and not header[345:].strip(b"\0")
        if not (is_plain and name.isascii() and size.isdigit() and found.isdigit()):
            return None
        member = cls(name.decode("ascii"))
        member.type = kind
        try:
            member.size = int(size, 8)
            is_sound = int(found, 8) == sum(header) - sum(checksum) + 8 * ord(" ")
        except ValueError:
            return None
        return member if is_sound and b"\0" not in name else None


def tar_members(stream: Stream) -> Iterator[Member | MalformedError]:
    """Yield the members of a tar file that belong to studies, and why others are refused.

    Args:
        stream: the archive's contents.

    Raises:
        UnreadableError: the archive is damaged, cut short, not a tar file, or a bomb.
    """
    try:
        archive = tarfile.TarFile(
            fileobj=cast("BinaryIO", stream),
            tarinfo=_Header,
            encoding="utf-8",
            errors="backslashreplace",
        )
        while (header := archive.next()) is not None:
            # It would keep the headers of all members.
            vars(archive)["members"].clear()
            stream.member = header.name
            if (member := _member(header)) is not None:
                yield (
                    member
                    if isinstance(member, MalformedError)
                    else member._replace(body=stream.read(header.size))
                )
    except (tarfile.TarError, ArithmeticError, ValueError) as error:
        raise stream.unreadable("it is damaged") from error


def _member(header: tarfile.TarInfo) -> Member | MalformedError | None:
    """Return the member that a header announces; None where it does not belong to a study."""
    name = header.name
    if not 0 <= header.size <= _HOPELESS:
        raise UnreadableError(name, f"it claims {header.size:,} bytes, so nothing can follow")
    if header.issparse() or any(key.startswith("GNU.sparse") for key in header.pax_headers):
        return MalformedError(name, "it is a sparse file, which can claim any size")
    if header.isreg():
        return named_member(name, header.size)
    if header.isdir() or header.type == b"V":  # the name of a volume
        return None
    kind = header.type.decode("latin-1")
    return MalformedError(name, _REFUSED.get(header.type, f"it is of the unknown kind {kind!r}"))
