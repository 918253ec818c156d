/// One of the two 8-bit floating-point types of the Open Compute Project (OFP8).
package struct Float8: Sendable {
    /// 4 exponent bits, 3 mantissa bits, bias 7; no infinity, NaN is 0x7F and 0xFF.
    package static let e4m3 = Float8(mantissaBits: 3, bias: 7) { $0 & 0x7F == 0x7F ? .nan : nil }

    /// 5 exponent bits, 2 mantissa bits, bias 15; infinity and NaN as in IEEE 754.
    package static let e5m2 = Float8(mantissaBits: 2, bias: 15) { code in
        guard code & 0x7C == 0x7C else { return nil }
        return code & 3 != 0 ? .nan : code & 0x80 != 0 ? -.infinity : .infinity
    }

    /// The values by code.
    package let values: [Float]
    /// The largest finite value.
    package let largest: Float
    private let mantissaBits: Int
    private let bias: Int

    /// - Parameter special: returns infinity or NaN for codes without a finite value; nil for all others.
    private init(mantissaBits: Int, bias: Int, special: (Int) -> Float?) {
        values = (0..<256).map { code in
            if let special = special(code) { return special }
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
        largest = values.filter(\.isFinite).max() ?? 0
        (self.mantissaBits, self.bias) = (mantissaBits, bias)
    }

    /// Returns the code of the nearest value, with ties to the even mantissa; the largest finite value for numbers
    /// beyond it.
    /// - Parameter x: not NaN.
    package func code(_ x: Float) -> UInt8 {
        let sign = UInt8(x.bitPattern >> 24) & 0x80
        let magnitude = min(abs(x), largest)
        let smallestExponent = 1 - bias
        if magnitude.exponent < smallestExponent || magnitude == 0 {
            // A multiple of the smallest value; 2^mantissaBits multiples are the first code with an exponent.
            let steps = magnitude * Float(sign: .plus, exponent: mantissaBits - smallestExponent, significand: 1)
            return sign | UInt8(steps.rounded(.toNearestOrEven))
        }
        let dropped = UInt32(23 - mantissaBits)
        let bits = magnitude.bitPattern
        let rounded = (bits + (1 << (dropped - 1)) - 1 + (bits >> dropped & 1)) >> dropped
        // The exponent bias of float32 is 127.
        return sign | UInt8(truncatingIfNeeded: Int(rounded) - (127 - bias) << mantissaBits)
    }
}
