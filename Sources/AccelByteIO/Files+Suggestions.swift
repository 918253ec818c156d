extension Files {
    /// Returns the end of an error about a path where there is nothing: `; did you mean "PATH"?` with the most similar name beside
    /// the first part that is missing, or the only one that begins so; an empty text if there is none.
    package static func suggestion(for path: String) -> String {
        var (missing, rest) = (trimmingSlashes(path), "")
        while let folder = parentFolder(of: missing), folder != missing, kind(of: folder) == nil {
            rest = "/\(name(of: missing))\(rest)"
            missing = folder
        }
        guard kind(of: missing) == nil, let folder = parentFolder(of: missing), let names = try? list(folder),
            let nearest = nearestName(to: name(of: missing), among: names)
                ?? completion(of: name(of: missing), among: names)
        else { return "" }
        let start = missing.dropLast(name(of: missing).count)
        return AccelByteIO.suggestion("\(start)\(nearest)\(kind(of: "\(start)\(nearest)\(rest)") == nil ? "" : rest)")
    }

    /// Returns the only name that begins so; nil if there are others, or if the beginning is short.
    private static func completion(of start: String, among names: [String]) -> String? {
        let found = names.filter { $0.hasPrefix(start) }
        return found.count == 1 && start.count >= shortestBeginning ? found[0] : nil
    }

    private static let shortestBeginning = 3
}
