import AccelByteIO
import AccelPrograms
import AccelTensors

extension Role.PixelNormalisation {
    /// The default of ViT and SigLIP: from -1 to 1.
    static let halves = Role.PixelNormalisation(mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5])
    /// The default of CLIP.
    static let clip = Role.PixelNormalisation(
        mean: [0.48145466, 0.4578275, 0.40821073], deviation: [0.26862954, 0.26130258, 0.27577711])
    /// Pixels from 0 to 1 without normalisation.
    private static func none(channels: Int) -> Role.PixelNormalisation {
        Role.PixelNormalisation(
            mean: [Double](repeating: 0, count: channels), deviation: [Double](repeating: 1, count: channels))
    }

    /// Reads `preprocessor_config.json`; missing fields have the defaults of the model's class in transformers.
    /// - Returns: Nil if pixels are not made from numbers between 0 and 1, or if there is no default for this number of
    ///   channels.
    /// - Throws: `FormatError` for fields that are not one number per channel.
    static func read(of checkpoint: Checkpoint, channels: Int, default usual: Self) throws -> Self? {
        let usual = usual.mean.count == channels ? usual : nil
        guard let file = try checkpoint.document("preprocessor_config.json") else { return usual }
        let factor = try file["rescale_factor"].double(default: 1 / 255)
        guard try file["do_rescale"].bool(default: true), abs(factor * 255 - 1) < 1e-6 else { return nil }
        guard try file["do_normalize"].bool(default: true) else { return none(channels: channels) }
        func numbers(_ name: String) throws -> [Double]? {
            guard file[name].exists else { return nil }
            let numbers = try file[name].array().map { try $0.double() }
            guard numbers.count == channels else {
                throw file[name].error("expected \(channels) numbers, one a channel, found \(numbers.count)")
            }
            return numbers
        }
        guard let mean = try numbers("image_mean") ?? usual?.mean,
            let deviation = try numbers("image_std") ?? usual?.deviation
        else { return nil }
        return Role.PixelNormalisation(mean: mean, deviation: deviation)
    }
}
