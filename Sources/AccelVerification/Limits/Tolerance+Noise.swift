import AccelPlatform
import AccelTensors

extension Tolerance {
    /// Four times the noise of the framework that made a golden: its float32 result against its float64 result.
    static let noiseFactor = 4.0
    /// Noise below this share of the reference's RMS is not measurable in float32 (half a unit in the last place).
    static let roundingUnit = 0x1p-24

    /// Returns the limit for the noise of a framework.
    /// - Parameter noise: the framework's own largest error, float32 against float64.
    /// - Parameter rms: the RMS of the reference.
    /// - Parameter origin: e.g. `case.json`.
    static func noise(_ noise: Double, rms: Double, origin: String) -> Tolerance {
        let floor = max(noise, rms * roundingUnit)
        return Tolerance(
            maximumError: noiseFactor * floor,
            origin: "4 x the float32 noise of \(FigureText.small(floor)) that \(origin) states")
    }

    /// The limit against another framework's float32 result whose noise is unknown.
    static var unstatedNoise: Tolerance {
        .arithmetic(.float32, sqnr: 80, origin: "another framework's float32 arithmetic, whose noise is not stated")
    }

    /// The largest share of the reference's RMS that is noise: what differs more is another result.
    static let mostNoise = 0.25

    /// Returns the limit from a golden that holds the same forward pass in float64; nil if the two are not the same.
    static func noise(of output: StoredTensor, against exact: StoredTensor, origin: String) -> Tolerance? {
        let (values, reference) = (output.doubles(), exact.doubles())
        var (largest, energy) = (0.0, 0.0)
        for (x, r) in zip(values, reference) where x.isFinite && r.isFinite {
            largest = max(largest, abs(x - r))
            energy += r * r
        }
        let rms = (energy / Double(max(reference.count, 1))).squareRoot()
        guard largest <= mostNoise * rms else { return nil }
        return noise(largest, rms: rms, origin: origin)
    }
}
