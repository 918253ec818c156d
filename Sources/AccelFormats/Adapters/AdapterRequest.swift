import AccelByteIO

/// An adapter to merge into a model: `DIR`, or `DIR:WEIGHT` for a part or a multiple of its changes.
public struct AdapterRequest: Equatable, Sendable {
    /// The adapter's folder, or `hf:OWNER/NAME[@REV]`.
    public var folder: String
    /// The factor of the adapter's changes.
    public var weight: Float

    /// An adapter with a weight.
    public init(_ folder: String, weight: Float = 1) { (self.folder, self.weight) = (folder, weight) }

    /// Parses `DIR` or `DIR:WEIGHT`. A folder whose name ends like a weight is named with a slash at its end.
    /// - Throws: `RequestError` for a weight that is 0 or no finite number.
    public init(parsing text: String) throws {
        self.init(text)
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex else { return }
        let (folder, end) = (String(text[..<colon]), text[text.index(after: colon)...])
        guard let weight = Float(end), weight.isFinite, weight != 0 else {
            // Names have colons, too.
            if Float(end) == nil, folder == "hf" || end.contains("/") || Files.kind(of: text) != nil { return }
            throw RequestError(
                "\(quoted(text)): the weight of an adapter is a number other than 0, as in \(folder):0.5")
        }
        self.init(folder, weight: weight)
    }

    /// The start of the names of all adapters' files among a model's sources.
    public static let sourceFolder = "adapters/"

    /// The folder of the adapter's files in the names of a model's sources, such as `adapters/2@0.5`. As it has the
    /// weight, cache keys and the provenance of packages have it, too.
    func sourceFolder(_ index: Int) -> String { "\(Self.sourceFolder)\(index + 1)" + (weight == 1 ? "" : "@\(weight)") }
}
