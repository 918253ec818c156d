import ByteIO

/// One option of a codec, e.g. `bits` of `palette:bits=4`.
public struct CodecOption: Hashable, Sendable {
    public let name: String
    /// The words it takes.
    public let allowed: [String]
    /// It takes any positive integer besides.
    public let takesInteger: Bool
    public let defaultValue: String
    /// A specification names it even at its default: without it a reader would not know what is stored.
    public let isAlwaysNamed: Bool
    public let help: String

    public init(
        _ name: String, allowed: [String], takesInteger: Bool = false, default value: String,
        isAlwaysNamed: Bool = false, help: String
    ) {
        self.name = name
        self.allowed = allowed
        self.takesInteger = takesInteger
        self.defaultValue = value
        self.isAlwaysNamed = isAlwaysNamed
        self.help = help
    }

    func accepts(_ value: String) -> Bool {
        allowed.contains(value) || takesInteger && Int(value).map { $0 > 0 && "\($0)" == value } ?? false
    }

    var accepted: String { (allowed + (takesInteger ? ["a positive integer"] : [])).joined(separator: ", ") }
}

/// A codec's name and a value for each of its options.
public struct CodecOptionValues: Hashable, Sendable {
    public let codec: String
    private var values: [String: String]
    private let options: [CodecOption]

    /// - Parameter values: those given; the others take their defaults.
    /// - Throws: `RequestError` for an option or a value that the codec does not take.
    public init(_ type: any WeightCodec.Type, _ given: [String: String] = [:]) throws {
        self.init(defaultsOf: type)
        let names = options.map(\.name)
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            guard let option = options.first(where: { $0.name == name }) else {
                let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
                let known = names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))"
                throw RequestError("\(type.name) has no option \"\(name)\" (\(known))\(hint)")
            }
            guard option.accepts(value) else {
                throw RequestError("\(type.name): \(name) is \"\(value)\", but takes \(option.accepted)")
            }
            values[name] = value
        }
    }

    /// Every option at its default.
    init(defaultsOf type: any WeightCodec.Type) {
        codec = type.name
        options = type.options
        values = Dictionary(uniqueKeysWithValues: options.map { ($0.name, $0.defaultValue) })
    }

    /// The value of an option that the codec lists; empty for another.
    public subscript(option: String) -> String { values[option] ?? "" }
    /// The value as a number; nil when it is a word.
    public func integer(_ option: String) -> Int? { Int(self[option]) }

    /// Canonical text, with the options that differ from their defaults or are always named: `palette:bits=4,group=16`.
    public var specification: String {
        text(of: options.filter { $0.isAlwaysNamed || self[$0.name] != $0.defaultValue })
    }
    /// With every option written out, for keys and provenance.
    public var fullSpecification: String { text(of: options) }

    private func text(of options: [CodecOption]) -> String {
        let parts = options.map { "\($0.name)=\(self[$0.name])" }
        return parts.isEmpty ? codec : "\(codec):\(parts.joined(separator: ","))"
    }
}
