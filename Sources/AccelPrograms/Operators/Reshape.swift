import AccelTensors

/// The same elements in row-major order under other extents. Extents with quotients are compared once they are numbers.
public struct Reshape: ViewOperator {
    public static let name = "reshape"
    public var dimensions: [Dimension]

    public init(to dimensions: [Dimension]) { self.dimensions = dimensions }
    public init(attributes: Attributes) throws { dimensions = try attributes.dimensions("to") }
    public var attributes: Attributes { ["to": .dimensions(dimensions)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        let (found, wanted) = (input.dimensions.reduce(1, *), dimensions.reduce(1, *))
        // Whether a quotient leaves a rest shows once it is a number.
        guard found == wanted || found.hasQuotient || wanted.hasQuotient else {
            throw OperatorError(
                "\(input) has \(found) elements, but \(TensorType(input.elementType, dimensions)) has \(wanted)")
        }
        return [TensorType(input.elementType, dimensions)]
    }

    public func view(of input: StridedLayout) -> StridedLayout? {
        guard input.isContiguous else { return nil }
        return StridedLayout(offset: input.offset, shape: Shape(dimensions.compactMap(\.value)))
    }
}
