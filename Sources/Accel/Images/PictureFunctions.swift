import AccelByteIO
import AccelFrontEnds
import AccelImages
import AccelPrograms
import AccelTensors

/// Makes the pixels of a model's functions, as its preprocessor_config.json states it.
struct PicturePixels: Sendable {
    private let processor: ImageProcessor
    private let path: String

    /// - Throws: `AccelError`: (unsupported) if the package does not state how pixels are made; (corrupt) for settings that cannot be read.
    init(_ model: AccelModel) throws(AccelError) {
        path = model.package.path
        do {
            guard let processor = try ImageProcessor(files: model.package.assetFiles) else {
                throw AccelError(
                    .unsupported, "the package has no preprocessor_config.json that states how pixels are made",
                    at: path)
            }
            self.processor = processor
        } catch { throw AccelError(error, at: path) }
    }

    /// Returns why a picture has another size than the function, whose shape is fixed.
    private func varyingReason(_ picture: Picture, _ height: Int, _ width: Int) -> String {
        let reason =
            processor.size == nil
            ? "the settings do not resize pictures" : "the settings keep the proportions of a picture"
        return
            "; \(reason), and the shape of the function is fixed: the picture of \(picture.width) x \(picture.height) does not fit"
    }

    /// Returns the pixels of some pictures; rows without a picture are zeros.
    /// - Parameter shape: F32[batch, 3, height, width].
    /// - Throws: `AccelError`: (invalid) for a picture that cannot be resized; (unsupported) if the settings make another size.
    func tensor(of pictures: [Picture], shape: Shape) throws(AccelError) -> AccelTensor {
        let (height, width) = (shape.dimensions[2], shape.dimensions[3])
        var rows: [[Float]] = []
        for picture in pictures {
            let fitted: Picture
            do { fitted = try processor.fitted(picture) } catch { throw AccelError(error, at: path) }
            guard (fitted.height, fitted.width) == (height, width) else {
                throw AccelError(
                    .unsupported,
                    "the settings of the model make a picture of \(fitted.width) x \(fitted.height), and its function takes \(width) x \(height)"
                        + (processor.hasVaryingSize ? varyingReason(picture, height, width) : ""),
                    at: path)
            }
            rows.append(processor.values(of: fitted))
        }
        return try AccelTensor(of: Float.self, shape: shape) { span throws(AccelError) in
            for (row, values) in rows.enumerated() {
                for index in values.indices { span[row * values.count + index] = values[index] }
            }
        }
    }
}

/// The functions of a model that take whole pictures, and nothing else, and the processor that makes their pixels.
struct PictureFunctions: Sendable {
    /// A function for `batch` pictures.
    struct Function: Sendable {
        let description: FunctionDescription
        /// F32[batch, 3, height, width].
        let pixels: FunctionDescription.Port
        let output: FunctionDescription.Port
        var batch: Int { pixels.shape.dimensions[0] }
    }
    /// Functions of one size of pictures, from the smallest batch to the largest.
    let functions: [Function]
    private let pixels: PicturePixels
    private let model: AccelModel

    /// - Parameter kinds: the kinds of outputs, the best one first.
    /// - Throws: `AccelError` (unsupported) if no function takes pictures and has an output of one of the kinds, or if the package does not state
    ///   how pixels are made; (corrupt) for settings of its files that cannot be read.
    init(_ model: AccelModel, outputs kinds: [RoleKind], for purpose: String) throws(AccelError) {
        let path = model.package.path
        self.model = model
        let fitting = model.functions.compactMap { Function($0, kinds) }.sorted { $0.batch < $1.batch }
        guard let first = fitting.first else {
            throw AccelError(
                .unsupported, "no function takes pictures of three colours and returns \(purpose)", at: path)
        }
        functions = fitting.filter { $0.pixels.shape.dimensions[1...] == first.pixels.shape.dimensions[1...] }
        pixels = try PicturePixels(model)
    }

    /// Runs pictures, as many at a time as there are rows. `body` gets the output, the row of a picture in it, and its index.
    func run(
        _ pictures: [Picture],
        _ body: (Function, AccelTensor, _ row: Int, _ index: Int) throws(AccelError) -> Void
    ) async throws(AccelError) {
        var start = 0
        while start < pictures.count {
            let function = functions.last { $0.batch <= pictures.count - start } ?? functions[0]
            let taken = pictures[start..<min(start + function.batch, pictures.count)]
            let outputs = try await model.function(function.description.name)(
                [function.pixels.name: try pixels.tensor(of: Array(taken), shape: function.pixels.shape)])
            let output = try outputs[function.output.name]
            for row in 0..<taken.count { try body(function, output, row, start + row) }
            start += taken.count
        }
    }
}

extension PictureFunctions.Function {
    fileprivate init?(_ function: FunctionDescription, _ kinds: [RoleKind]) {
        guard function.inputs.count == 1, function.states.isEmpty, let pixels = function.input(.pixels),
            pixels.elementType == .float32, pixels.shape.rank == 4, pixels.shape.dimensions[1] == 3,
            pixels.shape.count > 0,
            let output = kinds.lazy.compactMap({ kind in function.outputs.first { $0.role.kind == kind } }).first
        else { return nil }
        (description, self.pixels, self.output) = (function, pixels, output)
    }
}
