import AccelPlatform

/// The mel bands of Whisper's spectrograms: triangles of equal area over the bins of a spectrum of 400 samples, at 16000 a second, with
/// centers that are evenly apart on Slaney's scale (linear below 1 kHz, logarithmic above; Slaney, Auditory Toolbox, 1998).
enum MelFilters {
    static let bins = 201
    private static let highest = 8000.0

    /// Returns the filters, row by row.
    static func slaney(bands: Int) -> [Float] {
        let top = mel(highest)
        let edges = (0..<bands + 2).map { frequency(top * Double($0) / Double(bands + 1)) }
        return (0..<bands).flatMap { band in
            let (low, center, high) = (edges[band], edges[band + 1], edges[band + 2])
            return (0..<bins).map { bin in
                let at = highest * Double(bin) / Double(bins - 1)
                let height = max(0, min((at - low) / (center - low), (high - at) / (high - center)))
                return Float(height * 2 / (high - low))
            }
        }
    }

    /// Mels of a third of 200 Hz each, up to 1 kHz.
    private static let (linear, corner, logarithmic) = (200.0 / 3, 1000.0, 27.0)

    private static func mel(_ frequency: Double) -> Double {
        frequency < corner ? frequency / linear : corner / linear + log(frequency / corner) / log(6.4) * logarithmic
    }

    private static func frequency(_ mel: Double) -> Double {
        mel < corner / linear ? mel * linear : corner * pow(6.4, (mel - corner / linear) / logarithmic)
    }
}
