import AccelWeightCompression

extension Float {
    /// The number, or the one of float16 that is nearest to 0 if it would be 0 there.
    var keptFromZero: Float {
        guard self != 0, Half.value(Half.bits(self)) == 0 else { return self }
        return self < 0 ? -Self.leastHalf : Self.leastHalf
    }

    private static let leastHalf = Half.value(1)
}
