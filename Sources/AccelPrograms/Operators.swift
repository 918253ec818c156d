import AccelByteIO

/// The registry of operators. A new operator is one file in `Operators/` and one line here.
public enum Operators {
    /// Every operator, by name.
    public static let all: [any Operator.Type] = [
        Add.self, ArgMax.self, Atan2.self, Attention.self, Cast.self, Compare.self, Concat.self, Conv.self,
        ConvTranspose.self, Copy.self, Cos.self, CumulativeSum.self, Divide.self, Elu.self, Erf.self, Exp.self,
        Expand.self,
        Floor.self, Gather.self, Gelu.self, GroupNorm.self, InstanceNorm.self, L2Norm.self, LSTM.self, LSTMCell.self,
        LayerNorm.self, LeakyRelu.self, Linear.self, Log.self, MatMul.self, Maximum.self, Minimum.self, Modulo.self,
        Multiply.self, Negate.self, Pad.self, Power.self, QuantizedLinear.self, RMSNorm.self, Reduce.self, Relu.self,
        Reshape.self, Resize.self, Rope.self, RoundRows.self, Rsqrt.self, Select.self, Sigmoid.self, Silu.self,
        Sin.self, Slice.self, Snake.self, Softmax.self, Sqrt.self, Subtract.self, Tanh.self, Transpose.self,
        UpdateSlice.self, WidenRows.self,
    ]

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Returns the version of an operator; nil for an unknown name.
    public static func version(of name: String) -> Int? { byName[name]?.version }

    /// Creates an operator by name.
    /// - Throws: `OperatorError` for an unknown name, and for attributes that do not fit.
    public static func make(_ name: String, _ attributes: Attributes) throws -> any Operator {
        guard let type = byName[name] else {
            let hint = suggestion(for: name, among: byName.keys.sorted())
            throw OperatorError("unknown operator \"\(name)\"\(hint)")
        }
        return try type.init(attributes: attributes)
    }
}
