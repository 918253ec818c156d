import AccelByteIO
import AccelTensors

/// What finding and using the statistics of a weight's inputs takes in memory, in bytes.
public enum CalibrationMemory {
    /// Of what is known of a weight's inputs, for as long as it is known.
    public static func statistics(columns: Int, hasDrift: Bool) -> Int {
        let held = matrix(HeldOutCollector.most, columns, MemoryLayout<Float>.stride)
        let moments = matrix(columns, columns, MemoryLayout<Float>.stride)
        return times(hasDrift ? 2 : 1, MachineMemory.sum([held, moments]))
    }

    /// Of the sums, while vectors are seen.
    public static func sums(columns: Int, hasDrift: Bool) -> Int {
        let block = matrix(MomentSums.blockRows, columns, MemoryLayout<Float>.stride)
        let sums = matrix(columns, columns, MemoryLayout<Double>.stride)
        return MachineMemory.sum([block, times(hasDrift ? 2 : 1, MachineMemory.sum([block, sums]))])
    }

    /// Of the factor that error feedback is by: the matrix in float64, half of it in float32; with a drift, that, and twice
    /// the half, besides.
    public static func factor(columns: Int, hasDrift: Bool) -> Int {
        let width = FeedbackFactor.width
        let padded = (columns + width - 1) / width * width
        let square = matrix(padded, padded, MemoryLayout<Double>.stride)
        return MachineMemory.sum([square, square / 4] + (hasDrift ? [square / 2, square / 2] : []))
    }

    private static func matrix(_ rows: Int, _ columns: Int, _ size: Int) -> Int {
        Shape([rows, columns, size]).checkedCount ?? .max
    }

    private static func times(_ factor: Int, _ bytes: Int) -> Int {
        MachineMemory.sum(repeatElement(bytes, count: factor))
    }
}
