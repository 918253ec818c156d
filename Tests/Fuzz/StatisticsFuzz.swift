import AccelByteIO
import AccelCalibration
import AccelTensors
import AccelWeightCompression

extension FuzzTarget {
    static let statistics = FuzzTarget(name: "statistics", seeds: (try? statisticsSeeds()) ?? []) { bytes in
        let file = try SafetensorsFile(bytes, file: "fuzz")
        for (_, known) in try StatisticsFile.read(file, path: "fuzz") {
            let square = known.columns * known.columns
            precondition(known.moments.count == square && [0, square].contains(known.drift.count))
            precondition(known.moments.allSatisfy(\.isFinite) && known.drift.allSatisfy(\.isFinite))
            let held = known.heldOut
            precondition(held.vectors.count.isMultiple(of: known.columns))
            precondition([0, held.vectors.count].contains(held.drifts.count))
        }
    }

    private static func statisticsSeeds() throws -> [[UInt8]] {
        let plain = ActivationStatistics(columns: 2, count: 3, moments: [1, 0.5, 0.5, 2])
        let full = ActivationStatistics(
            columns: 2, count: 3, moments: [1, 0.5, 0.5, 2], drift: [0, 1, -1, 0],
            heldOut: HeldOutVectors(vectors: [1, 2, 3, 4], drifts: [0, 0, 1, 1]))
        return try [["a": plain], ["a": full, "b": full, "c": plain]].map { statistics in
            try StatisticsFile.parts(statistics).flatMap { $0.withBytes(Array.init) }
        }
    }
}
