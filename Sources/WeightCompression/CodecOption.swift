import ByteIO

/// One option of a codec, e.g. `bits` of `palette:bits=4`.
public struct CodecOption: Sendable {
    public let name: String
    /// The words it takes.
    public let allowed: [String]
    /// It takes any positive integer besides.
    public let takesInteger: Bool
    public let defaultValue: String
    public let help: String

    public init(
        _ name: String, allowed: [String], takesInteger: Bool = false, default value: String, help: String
    ) {
        self.name = name
        self.allowed = allowed
        self.takesInteger = takesInteger
        self.defaultValue = value
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
    private let values: [String: String]
    /// As the codec lists them, with their defaults.
    private let defaults: [String]
    private let order: [String]

    /// - Parameter values: those given; the others take their defaults.
    /// - Throws: `RequestError` for an option or a value that the codec does not take.
    public init(_ type: any WeightCodec.Type, _ given: [String: String] = [:]) throws {
        codec = type.name
        order = type.options.map(\.name)
        defaults = type.options.map(\.defaultValue)
        var values = Dictionary(uniqueKeysWithValues: type.options.map { ($0.name, $0.defaultValue) })
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            guard let option = type.options.first(where: { $0.name == name }) else {
                let hint = nearestName(to: name, among: order).map { "; did you mean \"\($0)\"?" } ?? ""
                let known = order.isEmpty ? "it takes none" : "it takes \(order.joined(separator: ", "))"
                throw RequestError("\(type.name) has no option \"\(name)\" (\(known))\(hint)")
            }
            guard option.accepts(value) else {
                throw RequestError("\(type.name): \(name) is \"\(value)\", but takes \(option.accepted)")
            }
            values[name] = value
        }
        self.values = values
    }

    /// Every option at its default.
    init(defaultsOf type: any WeightCodec.Type) {
        codec = type.name
        order = type.options.map(\.name)
        defaults = type.options.map(\.defaultValue)
        values = Dictionary(uniqueKeysWithValues: zip(order, defaults))
    }

    /// The value of an option that the codec lists; empty for another.
    public subscript(option: String) -> String { values[option] ?? "" }
    /// The value as a number; nil when it is a word.
    public func integer(_ option: String) -> Int? { Int(self[option]) }

    /// Canonical text, with the options that differ from their defaults: `palette:bits=4,group=16`.
    public var specification: String { text { $0 != $1 } }
    /// With every option written out, for keys and provenance.
    public var fullSpecification: String { text { _, _ in true } }

    private func text(_ isWritten: (_ value: String, _ default: String) -> Bool) -> String {
        let parts = zip(order, defaults).filter { isWritten(self[$0], $1) }.map { "\($0.0)=\(self[$0.0])" }
        return parts.isEmpty ? codec : "\(codec):\(parts.joined(separator: ","))"
    }
}
