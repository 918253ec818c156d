import AccelByteIO

/// An option of a codec, such as `bits` in `palette:bits=4`.
public struct CodecOption: Hashable, Sendable {
    /// The name in specifications.
    public let name: String
    /// The accepted words.
    public let allowed: [String]
    /// Another kind of accepted value; nil if there is none.
    public let free: Free?
    /// The value if a specification leaves the option out.
    public let defaultValue: String
    /// The canonical specification contains the option even at its default, because the encoding is not clear without
    /// it.
    public let isAlwaysNamed: Bool
    /// The encoder sets the value for each weight; requests leave it out.
    public let isFilledIn: Bool
    /// The text of `accelc help`, without a full stop.
    public let help: String

    /// Creates an option. See the properties for the parameters.
    public init(
        _ name: String, allowed: [String], free: Free? = nil, default value: String,
        isAlwaysNamed: Bool = false, isFilledIn: Bool = false, help: String
    ) {
        self.name = name
        self.allowed = allowed
        self.free = free
        self.defaultValue = value
        self.isAlwaysNamed = isAlwaysNamed
        self.isFilledIn = isFilledIn
        self.help = help
    }

    /// Kinds of values other than fixed words.
    public enum Free: Sendable {
        /// 1, 2, ...
        case integer
        /// 0, 1, 2, ...
        case count
        /// Between 0 and 1.
        case share
        /// Above 0.
        case number
        /// n:m with 0 < n < m.
        case pattern

        /// Returns the canonical spelling of a value, such as `0.5` for `0.50`; nil if the value is not valid.
        func canonical(_ text: String) -> String? {
            switch self {
            case .integer, .count:
                return Int(text).flatMap { $0 >= (self == .count ? 0 : 1) && "\($0)" == text ? text : nil }
            case .share, .number:
                guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || ".-e".utf8.contains($0) }),
                    let value = Double(text), value > 0,
                    value < (self == .share ? 1 : Double(Float.greatestFiniteMagnitude))
                else { return nil }
                return "\(value)"
            case .pattern:
                let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
                guard numbers.count == 2, 0 < numbers[0], numbers[0] < numbers[1], numbers[1] <= 1024 else {
                    return nil
                }
                return "\(numbers[0]):\(numbers[1])"
            }
        }

        var words: String {
            switch self {
            case .integer: "a positive integer"
            case .count: "a count"
            case .share: "a number between 0 and 1"
            case .number: "a number above 0"
            case .pattern: "N:M with N below M"
            }
        }

        /// The placeholder in help texts, such as `N`.
        public var placeholder: String {
            switch self {
            case .integer, .count: "N"
            case .share, .number: "X"
            case .pattern: "N:M"
            }
        }
    }

    /// Returns the canonical spelling of a value; nil if the option does not accept it.
    func canonical(_ value: String) -> String? { allowed.contains(value) ? value : free?.canonical(value) }

    /// The accepted words, and the other kind of value where there is one.
    var accepted: [String] { allowed + (free.map { [$0.words] } ?? []) }
}

/// A codec's name with a value for each of its options.
public struct CodecOptionValues: Hashable, Sendable {
    /// The name of the codec, such as `int4`.
    public let codec: String
    /// The options of the inner codec, if there is one: `int8` in `sparse:target=0.5+int8`.
    public let inner: [CodecOptionValues]
    private var values: [String: String]
    /// The options of the codec.
    package let options: [CodecOption]

    /// Checks the given options; the others take their defaults.
    /// - Throws: `RequestError` for an option or a value that the codec does not accept.
    public init(
        _ scheme: CodecScheme, _ given: [String: String] = [:], around inner: CodecOptionValues? = nil
    ) throws {
        self.init(defaultsOf: scheme, around: inner)
        let names = options.map(\.name)
        let unknown = given.keys.filter { !names.contains($0) }.sorted()
        guard unknown.isEmpty else {
            let known = names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))"
            let quoted = unknown.map { "\"\($0)\"" }.joined(separator: " and no ")
            let hint = unknown.lazy.map { suggestion(for: $0, among: names) }.first { !$0.isEmpty } ?? ""
            throw RequestError("\(scheme.name) has no option \(quoted) (\(known))\(hint)")
        }
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            guard let option = options.first(where: { $0.name == name }) else { continue }
            guard let canonical = option.canonical(value) else {
                let accepted = option.accepted.joined(separator: ", ")
                throw RequestError("\(scheme.name): \(name)=\(value) is not valid; it takes \(accepted)")
            }
            values[name] = canonical
        }
    }

    /// Creates values with every option at its default.
    init(defaultsOf scheme: CodecScheme, around inner: CodecOptionValues? = nil) {
        codec = scheme.name
        self.inner = inner.map { [$0] } ?? []
        options = scheme.options
        values = Dictionary(uniqueKeysWithValues: options.map { ($0.name, $0.defaultValue) })
    }

    /// The values of this codec and its inner codecs, from the outermost to the innermost.
    public var layers: [CodecOptionValues] { [self] + inner.flatMap(\.layers) }

    /// The value of an option; empty if the codec does not have it.
    public subscript(option: String) -> String { values[option] ?? "" }
    /// Returns the value as a number; nil if it is a word.
    public func integer(_ option: String) -> Int? { Int(self[option]) }

    /// Returns the values with one option changed, which the codec has to have.
    package func replacing(_ option: String, by value: String) -> CodecOptionValues {
        var copy = self
        copy.values[option] = value
        return copy
    }

    /// Returns the values with another inner codec.
    func replacing(inner: CodecOptionValues) -> CodecOptionValues {
        CodecOptionValues(codec: codec, inner: [inner], values: values, options: options)
    }

    private init(codec: String, inner: [CodecOptionValues], values: [String: String], options: [CodecOption]) {
        (self.codec, self.inner, self.values, self.options) = (codec, inner, values, options)
    }

    /// The canonical text, with the options that differ from their defaults or are always named:
    /// `palette:bits=4,group=16`.
    public var specification: String {
        let named = options.filter { $0.isAlwaysNamed || self[$0.name] != $0.defaultValue }
        return ([text(of: named)] + inner.map(\.specification)).joined(separator: "+")
    }
    /// The text with every option, for cache keys and provenance.
    public var fullSpecification: String {
        ([text(of: options)] + inner.map(\.fullSpecification)).joined(separator: "+")
    }
    /// The text with every option except those that the encoder sets, for cache keys of requests.
    public var fullRequest: String {
        ([text(of: options.filter { !$0.isFilledIn })] + inner.map(\.fullRequest)).joined(separator: "+")
    }
    /// The canonical text without the options that the encoder sets.
    public var request: String {
        let named = options.filter { !$0.isFilledIn && ($0.isAlwaysNamed || self[$0.name] != $0.defaultValue) }
        return ([text(of: named)] + inner.map(\.request)).joined(separator: "+")
    }

    private func text(of options: [CodecOption]) -> String {
        let parts = options.map { "\($0.name)=\(self[$0.name])" }
        return parts.isEmpty ? codec : "\(codec):\(parts.joined(separator: ","))"
    }
}
