import AccelByteIO
import AccelTensors

/// The memory that activation statistics and their use take, in bytes. A result that overflows is `Int.max`.
public enum CalibrationMemory {
    /// Returns the bytes of the finished statistics of one weight.
    public static func statistics(columns: Int, hasDrift: Bool) -> Int {
        let held = matrix(HeldOutCollector.most, columns, MemoryLayout<Float>.stride)
        let moments = matrix(columns, columns, MemoryLayout<Float>.stride)
        return times(hasDrift ? 2 : 1, MachineMemory.sum([held, moments]))
    }

    /// Returns the bytes of the sums while vectors are collected.
    /// - Parameter slices: the number of parts that are added up; a file has large ones meanwhile.
    public static func sums(columns: Int, hasDrift: Bool, slices: Int = 1) -> Int {
        let width = FeedbackFactor.width
        let padded = (columns + width - 1) / width * width
        let panels = matrix(MomentSums.blockRows, padded, MemoryLayout<Float>.stride)
        let block = matrix(TransposedBlock.stride, columns, MemoryLayout<Float>.stride)
        let sums = matrix(columns, columns, MemoryLayout<Double>.stride)
        let own = times(hasDrift ? 2 : 1, MachineMemory.sum([block, sums]))
        let levels = max(slices, 1).bitWidth - 1 - max(slices, 1).leadingZeroBitCount
        let waiting = times(levels, min(times(hasDrift ? 2 : 1, sums), MomentPart.mostWaitingBytes))
        return MachineMemory.sum([panels, own, waiting])
    }

    /// Returns the bytes of the factor for error feedback: the matrix in float64, one and a half of it in float32; with a
    /// drift, twice that half in addition.
    public static func factor(columns: Int, hasDrift: Bool) -> Int {
        let width = FeedbackFactor.width
        let padded = (columns + width - 1) / width * width
        let square = matrix(padded, padded, MemoryLayout<Double>.stride)
        return MachineMemory.sum([square, square / 2, square / 4] + (hasDrift ? [square / 2, square / 2] : []))
    }

    private static func matrix(_ rows: Int, _ columns: Int, _ size: Int) -> Int {
        Shape([rows, columns, size]).checkedCount ?? .max
    }

    private static func times(_ factor: Int, _ bytes: Int) -> Int {
        MachineMemory.sum(repeatElement(bytes, count: factor))
    }
}
