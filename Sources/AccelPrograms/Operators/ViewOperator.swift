import AccelTensors

/// An operator whose output is a view of its only input. Any element type.
public protocol ViewOperator: Operator {}

extension ViewOperator {
    public static var inputs: [OperatorInput] { [OperatorInput("x", .any)] }
    public static var rounding: ResultRounding { .exact }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        guard let layout = view(of: StridedLayout(shape: inputs[0].shape)) else {
            throw OperatorError("has no view of \(inputs[0].type)")
        }
        return [inputs[0].gathering(layout)]
    }
}
