/// The values of the two 8-bit floating point types of the Open Compute Project (OFP8).
enum Float8 {
    /// 4 exponent bits, 3 mantissa bits, bias 7; no infinity, NaN is 0x7F and 0xFF.
    static let e4m3: [Float] = (0..<256).map { code in
        code & 0x7F == 0x7F ? .nan : value(code, mantissaBits: 3, bias: 7)
    }

    /// 5 exponent bits, 2 mantissa bits, bias 15; infinity and NaN as in IEEE 754.
    static let e5m2: [Float] = (0..<256).map { code in
        guard code & 0x7C == 0x7C else { return value(code, mantissaBits: 2, bias: 15) }
        return code & 3 != 0 ? .nan : code & 0x80 != 0 ? -.infinity : .infinity
    }

    private static func value(_ code: Int, mantissaBits: Int, bias: Int) -> Float {
        let exponent = (code & 0x7F) >> mantissaBits
        let mantissa = code & (1 << mantissaBits - 1)
        let magnitude =
            exponent == 0
            ? Float(sign: .plus, exponent: 1 - bias - mantissaBits, significand: Float(mantissa))
            : Float(
                sign: .plus, exponent: exponent - bias - mantissaBits,
                significand: Float(mantissa + 1 << mantissaBits))
        return code & 0x80 != 0 ? -magnitude : magnitude
    }
}
