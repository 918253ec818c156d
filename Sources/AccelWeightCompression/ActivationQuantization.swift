import AccelByteIO

/// The rounding of activations before they are multiplied with a weight: `none`, or `int8` with options, such as
/// `int8:static`.
public struct ActivationQuantization: Hashable, Sendable {
    /// Activations stay float32.
    public static let none = ActivationQuantization(isRounded: false)
    /// 8-bit integers with a scale and a zero point for each row (a token, a position), which are computed in each run:
    /// dynamic quantization.
    public static let int8 = ActivationQuantization(isRounded: true)
    /// The forms in help and errors.
    package static let usage = "none, int8, int8:static"

    /// Activations are 8-bit integers.
    public let isRounded: Bool
    /// One scale and zero point for all rows, fixed by samples: static quantization.
    public var isStatic = false

    private init(isRounded: Bool) { self.isRounded = isRounded }

    /// Reads a specification such as `int8:static`.
    /// - Throws: `RequestError` with the accepted forms.
    public init(_ specification: String) throws {
        let parts = specification.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(isRounded: parts[0] == "int8")
        var options = parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : []
        isStatic = options.first == "static"
        if isStatic { options.removeFirst() }
        guard isRounded || specification == "none", options.isEmpty else {
            throw RequestError("the rounding of activations \"\(specification)\" is none of \(Self.usage)")
        }
    }

    /// The canonical specification.
    public var specification: String { isRounded ? isStatic ? "int8:static" : "int8" : "none" }

    /// Sample inputs decide something.
    public var needsSamples: Bool { isStatic }
}
