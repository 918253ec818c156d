import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelWeightCompression

extension Conversion {
    /// Runs the original model over the request's samples, and writes the mean squares of its weights' inputs as an importance matrix
    /// of llama.cpp.
    /// - Returns: The number of weights in the file, and a sentence on the part of a text that was not used.
    /// - Throws: `FormatError` if the model is corrupt; `RequestError` if there are no samples for it, or if llama.cpp has no such model.
    public func writeImportance(to path: String, threads: Int) throws -> (weights: Int, remark: String?) {
        try ImportanceMatrix.output.requireReplaceable(path)
        let source = try open()
        let model = try model(of: source)
        guard let file = try samples(for: model, of: source) else {
            throw RequestError("an importance matrix is measured on samples")
        }
        let parts = try CalibrationSamples.all(
            file.tensors, for: model.programs, file: file.path, memory: sampleMemory, threads: threads)
        guard !parts.isEmpty else {
            throw model.programs.noInput(among: file.tensors, file: file.path)
        }
        let count = try ImportanceMatrix.write(
            parts.meanSquares(threads: threads), family: model.family, samples: file.path, to: path)
        return (count, file.remark)
    }
}
