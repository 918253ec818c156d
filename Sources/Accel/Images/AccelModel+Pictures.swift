import AccelByteIO
import AccelFrontEnds
public import AccelImages
import AccelPrograms

extension AccelModel {
    /// Returns the classes of each picture with their scores, the likeliest one first, by a model such as ViT. Pixels are made as the model's
    /// preprocessor_config.json states it.
    ///
    ///     let labels = try await model.classify(pictures: [try Picture(contentsOf: path)])[0]
    ///
    /// - Throws: `AccelError`: (unsupported) if no function takes pictures and returns logits of classes, or the package does not state how
    ///   pixels are made; (invalid) for a picture that cannot be resized; (corrupt), (cancelled); and the backend's.
    public func classify(pictures: [Picture]) async throws(AccelError) -> [[ScoredLabel]] {
        let functions = try PictureFunctions(self, outputs: [.logits], for: "scores of classes")
        let classes: ClassLabels
        do {
            classes = try ClassLabels(package.assetFiles.document("config.json"))
        } catch { throw AccelError(error, at: package.path) }
        var results = [[ScoredLabel]](repeating: [], count: pictures.count)
        try await functions.run(pictures) { _, output, row, index throws(AccelError) in
            results[index] = .init(try output.row(row), classes.names, by: classes.scores)
        }
        return results
    }

    /// Returns a vector for each picture, by a model such as CLIP or SigLIP: the model's embedding, else its pooled state, else the mean of its
    /// hidden states.
    /// - Throws: as `classify(pictures:)`, without a function that returns vectors.
    public func embed(pictures: [Picture]) async throws(AccelError) -> [[Float]] {
        let functions = try PictureFunctions(self, outputs: [.embedding, .pooled, .hiddenStates], for: "vectors")
        var vectors = [[Float]](repeating: [], count: pictures.count)
        try await functions.run(pictures) { function, output, row, index throws(AccelError) in
            let values = try output.row(row)
            guard function.output.role.kind == .hiddenStates, let width = output.shape.dimensions.last, width > 0 else {
                vectors[index] = values
                return
            }
            let count = Float(values.count / width)
            vectors[index] = (0..<width).map { column in
                stride(from: column, to: values.count, by: width).reduce(Float(0)) { $0 + values[$1] } / count
            }
        }
        return vectors
    }

    /// The pictures that the model takes at a time; 1 for a model that takes none.
    package var picturesAtOnce: Int {
        max(functions.compactMap { $0.input(.pixels)?.shape.dimensions.first }.max() ?? 1, 1)
    }

    /// Whether a function takes pictures and returns the logits of classes.
    package var classifiesPictures: Bool {
        functions.contains { $0.role == .classify && $0.input(.pixels) != nil }
    }
}
