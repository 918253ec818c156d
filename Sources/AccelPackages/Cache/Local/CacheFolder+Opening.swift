import AccelByteIO

extension CacheFolder {
    /// Opens a file of the cache: the only way to one whose content is believed. A folder that was open to others once may hold files of
    /// theirs still, whatever its mode is now; so it is the opened file that is asked, not its name.
    /// - Returns: nil where there is no such file.
    /// - Throws: a miss for a file that others may have written, unless they are trusted.
    func opened(_ path: String) throws(CacheMiss) -> MappedFile? {
        guard let file = try? MappedFile(path, followsLink: false) else { return nil }
        if !trustsOthers, let reason = Self.distrust(of: file.access) { throw CacheMiss(.distrusted(reason)) }
        return file
    }

    /// Why others may decide what is in a file or folder; nil when they may not.
    static func distrust(of access: Files.Access) -> String? {
        if access.owner != Files.user { return "belongs to another user (number \(access.owner))" }
        return access.isWritableByOthers ? "may be written by others" : nil
    }
}
