import AccelPlatform

/// The short-time Fourier transform of a real signal.
package struct Spectrogram: Sendable {
    /// The signal beyond its ends.
    package enum Edge: Sendable {
        /// Reflected at the first and the last sample, which are not repeated.
        case reflected
        /// Silence.
        case zero
    }
    /// The samples of a frame, and the distance between two frames.
    package let frameLength, hop: Int
    private let window: [Float]
    private let edge: Edge
    private let transform: RealTransform

    /// Creates a transform with periodic Hann windows over a signal that is reflected at its ends. Numbers below 1 count as 1.
    package init(frameLength: Int, hop: Int) {
        (self.frameLength, self.hop, edge) = (max(frameLength, 1), max(hop, 1), .reflected)
        window = Self.hann(self.frameLength)
        transform = RealTransform(self.frameLength)
    }

    /// Creates a transform of frames under a symmetric Hann window in their middle, with silence beyond the ends of the signal. Numbers below 1
    /// count as 1, and a window longer than the frame as the frame's length.
    package init(frameLength: Int, windowLength: Int, hop: Int) {
        (self.frameLength, self.hop, edge) = (max(frameLength, 1), max(hop, 1), .zero)
        let count = min(max(windowLength, 1), self.frameLength)
        // The symmetric window of n samples begins as the periodic one of n - 1, and ends with its first sample.
        let own: [Float] = count == 1 ? [1] : Self.hann(count - 1, samples: count)
        let before = (self.frameLength - count) / 2
        let after = self.frameLength - count - before
        window = [Float](repeating: 0, count: before) + own + [Float](repeating: 0, count: after)
        transform = RealTransform(self.frameLength)
    }

    /// The periodic Hann window (Harris 1978); that of one sample is 1, as torch has it.
    private static func hann(_ count: Int) -> [Float] {
        guard count > 1 else { return [Float](repeating: 1, count: count) }
        return hann(count, samples: count)
    }

    private static func hann(_ period: Int, samples: Int) -> [Float] {
        (0..<samples).map { Float(0.5 - 0.5 * cos(2 * Double.pi * Double($0) / Double(period))) }
    }

    /// The number of frequencies of a frame, from 0 to the Nyquist frequency.
    package var frequencyCount: Int { transform.frequencyCount }

    /// The number of frames around the samples 0, hop, 2 * hop and so on.
    package func frameCount(_ samples: Int) -> Int { samples / hop + 1 }

    /// Calls `body` with eight frames at a time. Each is centred on a sample that is a multiple of the hop; beyond its ends the signal is
    /// reflected or silent, as torch's and librosa's `stft` do it with `center`.
    /// - Parameters:
    ///   - samples: the signal.
    ///   - frames: those that are wanted.
    ///   - power: the squared magnitudes of `frequencyCount` frequencies of eight frames. The last of the frames may be beyond `frames`.
    package func powers(
        of samples: [Float], frames: Range<Int>, _ body: (_ first: Int, _ power: UnsafePointer<Lanes>) -> Void
    ) {
        guard !samples.isEmpty else { return }
        let memory = LaneMemory(count: transform.memoryCount + frequencyCount)
        let power = memory.values.real + transform.memoryCount
        samples.withUnsafeBufferPointer { samples in
            window.withUnsafeBufferPointer { window in
                for first in stride(from: frames.lowerBound, to: frames.upperBound, by: Lanes.scalarCount) {
                    let start = first * hop - frameLength / 2
                    let isInside = start >= 0 && start + 7 * hop + frameLength <= samples.count
                    transform.run(memory.values) { index in
                        let place = start + index
                        let lanes = Self.lanes { lane in
                            let index = place + lane * hop
                            if isInside { return samples[index] }
                            switch edge {
                            case .reflected: return samples[Self.reflected(index, samples.count)]
                            case .zero: return samples.indices.contains(index) ? samples[index] : 0
                            }
                        }
                        return lanes * window[index]
                    } _: { frequency, real, imaginary in
                        power[frequency] = real * real + imaginary * imaginary
                    }
                    body(first, UnsafePointer(power))
                }
            }
        }
        withExtendedLifetime(memory) {}
    }

    @inline(__always)
    private static func lanes(_ value: (_ lane: Int) -> Float) -> Lanes {
        Lanes(value(0), value(1), value(2), value(3), value(4), value(5), value(6), value(7))
    }

    /// The index of a sample beyond the ends of a signal, which is reflected at its first and last sample.
    private static func reflected(_ index: Int, _ count: Int) -> Int {
        guard count > 1 else { return 0 }
        let period = 2 * (count - 1)
        let place = (index % period + period) % period
        return place < count ? place : period - place
    }
}
