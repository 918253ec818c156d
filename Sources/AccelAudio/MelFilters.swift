import AccelPlatform

/// Triangular filters from frequencies to bands of the mel scale, each with an area of 1 in Hz ("slaney" in librosa and transformers).
package struct MelFilters: Sendable {
    /// A filter: the first frequency with a weight, and the weights.
    struct Band: Sendable {
        let first: Int
        let weights: [Float]
    }
    let bands: [Band]

    /// - Parameters:
    ///   - bands: their number.
    ///   - frequencyCount: the frequencies of a spectrum, from 0 to half the rate.
    ///   - range: the lowest and the highest frequency of the filters, in Hz.
    package init(bands: Int, frequencyCount: Int, sampleRate: Double, range: ClosedRange<Double>) {
        let (low, high) = (Self.mel(range.lowerBound), Self.mel(range.upperBound))
        let edges = (0..<bands + 2).map { Self.hertz(low + (high - low) * Double($0) / Double(bands + 1)) }
        let step = sampleRate / 2 / Double(max(frequencyCount - 1, 1))
        self.bands = (0..<bands).map { band in
            let (left, centre, right) = (edges[band], edges[band + 1], edges[band + 2])
            let weights = (0..<frequencyCount).map { index in
                let frequency = step * Double(index)
                let weight = min((frequency - left) / (centre - left), (right - frequency) / (right - centre))
                return Float(max(0, weight) * 2 / (right - left))
            }
            let first = weights.firstIndex { $0 > 0 } ?? 0
            let end = weights.lastIndex { $0 > 0 }.map { $0 + 1 } ?? 0
            return Band(first: first, weights: first < end ? Array(weights[first..<end]) : [])
        }
    }

    /// The mel scale of Slaney's Auditory Toolbox (1998): linear up to 1000 Hz, logarithmic above.
    private static func mel(_ hertz: Double) -> Double {
        hertz < 1000 ? 3 * hertz / 200 : 15 + log(hertz / 1000) * 27 / log(6.4)
    }

    private static func hertz(_ mel: Double) -> Double {
        mel < 15 ? 200 * mel / 3 : 1000 * exp(log(6.4) / 27 * (mel - 15))
    }

    /// Returns the weights of all bands, row by row: F32[bands, frequencies].
    /// - Parameter frequencyCount: that of the initializer.
    package func matrix(frequencyCount: Int) -> [Float] {
        bands.flatMap { band -> [Float] in
            let before = [Float](repeating: 0, count: band.first)
            let after = [Float](repeating: 0, count: frequencyCount - band.first - band.weights.count)
            return before + band.weights + after
        }
    }

    /// The energy of a band in eight spectra.
    @inline(__always)
    func energy(_ band: Int, _ power: UnsafePointer<Lanes>) -> Lanes {
        let band = bands[band]
        var sum = Lanes.zero
        for (index, weight) in band.weights.enumerated() { sum += power[band.first + index] * weight }
        return sum
    }
}
