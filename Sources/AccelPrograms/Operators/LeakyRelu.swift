/// `x` for x >= 0, else `slope * x`; elementwise.
public struct LeakyRelu: UnaryOperator {
    public static let name = "leaky_relu"
    public static let rounding = ResultRounding.exact
    /// The factor of negative elements.
    public var slope: Double

    /// Creates the operator with the factor of negative elements.
    public init(slope: Double) { self.slope = slope }
    public init(attributes: Attributes) throws { slope = try attributes.number("slope") }
    public var attributes: Attributes { ["slope": .number(slope)] }
    public func apply(_ x: Double) -> Double { x < 0 ? x * slope : x }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let zero = builder.literal(0)
        let negative = try builder.apply(Minimum(), [inputs[0], zero])
        let scaled = try builder.apply(Multiply(), [negative, builder.literal(Float(slope))])
        return [try builder.apply(Add(), [try builder.apply(Maximum(), [inputs[0], zero]), scaled])]
    }
}
