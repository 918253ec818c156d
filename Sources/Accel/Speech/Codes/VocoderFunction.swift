import AccelByteIO
import AccelPrograms
import AccelTensors

/// A function that turns codes into samples, such as a decoder of SNAC.
struct VocoderFunction: Sendable {
    let description: FunctionDescription
    /// I64[1, frames * n], from the coarsest codebook on.
    let codes: [FunctionDescription.Port]
    /// F32[1, 1, frames * n]
    let noise: [FunctionDescription.Port]
    /// F32[1, 1, frames * n]
    let audio: FunctionDescription.Port
    /// The sample rate in Hz.
    let rate: Int

    /// Nil for a function that is no such one, and for batches.
    init?(_ function: FunctionDescription) {
        codes = function.inputs.filter { $0.role.kind == .codes }
        noise = function.inputs.filter { $0.role.kind == .noise }
        guard function.states.isEmpty, codes.count + noise.count == function.inputs.count,
            let audio = function.output(.audio), let rate = audio.role.integer("rate"), rate > 0,
            let frames = codes.first?.shape.dimensions.last, frames > 0
        else { return nil }
        func isOfFrames(_ port: FunctionDescription.Port, _ type: ElementType, rank: Int) -> Bool {
            let sizes = port.shape.dimensions
            guard sizes.count == rank, let length = sizes.last, sizes.dropLast().allSatisfy({ $0 == 1 }) else {
                return false
            }
            return port.elementType == type && length > 0 && length % frames == 0
        }
        guard codes.allSatisfy({ isOfFrames($0, .int64, rank: 2) }), isOfFrames(audio, .float32, rank: 3),
            noise.allSatisfy({ isOfFrames($0, .float32, rank: 3) })
        else { return nil }
        (description, self.audio, self.rate) = (function, audio, rate)
    }

    /// The frames that it takes: each has one code of the coarsest codebook.
    var frames: Int { codes[0].shape.count }
    var samplesPerFrame: Int { audio.shape.count / frames }
    /// The number of codes of each codebook in a frame.
    var codesPerFrame: [Int] { codes.map { $0.shape.count / frames } }

    /// Returns the functions of a model that divide a frame in the same way, from the shortest to the longest. Where some add noise, as the
    /// original does, those without it are left out.
    static func all(of model: AccelModel) throws(AccelError) -> [VocoderFunction] {
        let found = model.functions.compactMap(VocoderFunction.init)
        let complete = found.contains { !$0.noise.isEmpty } ? found.filter { !$0.noise.isEmpty } : found
        guard let first = complete.first else {
            throw AccelError(
                .unsupported, "no function turns the codes of one sound into samples", at: model.package.path,
                hint: "convert the decoder of a codec such as SNAC, with batch=1")
        }
        return complete.filter {
            $0.description.part == first.description.part && $0.codesPerFrame == first.codesPerFrame
                && $0.samplesPerFrame == first.samplesPerFrame && $0.rate == first.rate
        }.sorted { $0.frames < $1.frames }
    }
}
