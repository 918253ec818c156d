import AccelByteIO

/// The fields that a class of transformers reads from config.json. transformers ignores all other fields.
struct ConfigurationClass: Sendable {
    /// The fields that the class, or the code of its models, reads, by path; with the default, where JSON has a word for it.
    private let defaults: [String: JSON?]

    /// The classes by `model_type`.
    static let all: [String: ConfigurationClass] = {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(lines.map { (String($0[0]), ConfigurationClass($0.dropFirst())) }) { first, _ in first }
    }()

    /// - Parameter words: `name` or `name=default`.
    private init(_ words: ArraySlice<Substring>) {
        defaults = Dictionary(
            words.map { word in
                let sides = word.split(separator: "=", maxSplits: 1)
                let value = sides.count == 1 ? nil : try? JSON.parse(ByteView(Array(sides[1].utf8)), file: "")
                return (String(sides[0]), value)
            }
        ) { first, _ in first }
    }

    func defines(_ path: String) -> Bool { defaults[path] != nil }

    /// Returns whether a field that nobody reads has the value that the class uses without it.
    func isDefault(_ field: JSONField) -> Bool {
        guard let value = field.value, value != .null else { return true }
        guard let stated = defaults[field.path] ?? nil else { return value == .bool(false) }
        if let number = try? field.double(), case .number(let other) = stated { return number == other }
        return value == stated
    }
}
