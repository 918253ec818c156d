import AccelByteIO

extension CacheFolder {
    /// Opens a file of the cache; there is no other way to trusted content. Access is checked on the open file, not its
    /// name, because a folder that was once writable for others may still contain their files.
    /// - Returns: Nil if there is no such file.
    /// - Throws: A miss for a file that other users may have written, unless they are trusted.
    func opened(_ path: String) throws(CacheMiss) -> MappedFile? {
        guard let file = try? MappedFile(path, followsLink: false) else { return nil }
        if !trustsOthers, let reason = Self.distrust(of: file.access) { throw CacheMiss(.distrusted(reason)) }
        return file
    }

    /// Returns why other users may determine the content of a file or folder; nil if they may not.
    static func distrust(of access: Files.Access) -> String? {
        if access.owner != Files.user { return "belongs to another user (number \(access.owner))" }
        return access.isWritableByOthers ? "may be written by others" : nil
    }
}
