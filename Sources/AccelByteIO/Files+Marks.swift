extension Files {
    /// Returns whether a path is a regular file, and no link, with exactly this text.
    package static func holds(_ text: String, at path: String) -> Bool {
        guard kindWithoutFollowing(path) == .file, let content = try? MappedFile(path, followsLink: false).bytes else {
            return false
        }
        return content.withBytes { $0.elementsEqual(text.utf8) }
    }
}
