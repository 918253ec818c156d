/// One option of a codec: `bits=4`.
public struct CodecOption: Sendable {
    public let name: String
    /// The words it takes. Empty: any positive integer, or one of `words`.
    public let allowed: [String]
    /// `true`: any positive integer is allowed too.
    public let takesInteger: Bool
    public let defaultValue: String
    public let help: String

    public init(_ name: String, allowed: [String], takesInteger: Bool = false, default value: String, help: String) {
        self.name = name
        self.allowed = allowed
        self.takesInteger = takesInteger
        self.defaultValue = value
        self.help = help
    }
}

/// A codec's name and a value for each of its options.
public struct CodecOptionValues: Hashable, Sendable {
    public let codec: String
    public let values: [String: String]

    public init(codec: String, values: [String: String]) {
        self.codec = codec
        self.values = values
    }
    public subscript(option: String) -> String { fatalError("helper") }
    public func integer(_ option: String) -> Int? { fatalError("helper") }
    public var specification: String { fatalError("helper") }
}
