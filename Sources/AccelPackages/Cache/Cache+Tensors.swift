import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

extension Cache {
    /// Returns the encoding of a weight from an earlier conversion, as a view of the cache, with its bytes verified.
    /// - Parameter source: the weight, which determines the name of the result.
    public func tensor(
        for key: CacheKey, source: StoredTensor, codec: any WeightCodec
    ) -> Result<(tensor: CompressedTensor, distortion: Distortion), CacheMiss> {
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
            lease(key.digest)
            let record = try folder.record(key.digest)
            guard let distortion = record.distortion, let file = record.files.first else {
                throw CacheMiss(.malformedRecord("it is not that of a tensor"))
            }
            let content = try folder.verifiedBlob(file)
            guard let codec = try? codec.resolved(for: source) else {
                throw CacheMiss(.malformedRecord("its source cannot be stored so"))
            }
            let tensor = try CompressedTensor.joined(
                content, name: source.name, elementType: source.elementType, shape: source.shape, codec: codec)
            noteUse(of: key.digest)
            return .success((tensor, distortion))
        } catch {
            return .failure(error)
        }
    }

    /// Stores an encoding.
    /// - Parameter isShared: sends it to the cache server.
    /// - Returns: The encoding as a view of the cache, so that its memory can be freed; nil if the cache cannot be
    ///   written.
    public func store(
        _ tensor: CompressedTensor, _ distortion: Distortion, for key: CacheKey, model: String, isShared: Bool = true
    ) -> CompressedTensor? {
        guard [distortion.squaredError, distortion.energy, distortion.maximumError].allSatisfy(\.isFinite) else {
            return nil
        }
        return writing { folder in
            lease(key.digest)
            var file = try folder.putBlob(tensor.joinedParts)
            file.path = "sections"
            let record = CacheRecord(key: key, files: [file], model: model, distortion: distortion)
            try folder.putRecord(record)
            if isShared { remote?.add(record) }
            return try tensor.replacingSections(by: try folder.blob(file))
        }
    }
}

/// An encoding in one file: its sections, each padded to a multiple of 64 bytes. The codec determines their sizes.
extension CompressedTensor {
    var joinedParts: [ByteView] {
        sections.flatMap { section in
            let rest = section.count % PackageFormat.sectionAlignment
            return rest == 0
                ? [section] : [section, ByteView(ByteBuffer(count: PackageFormat.sectionAlignment - rest))]
        }
    }

    /// Returns the same encoding with its sections in `content`, which has the layout of `joinedParts`.
    func replacingSections(by content: ByteView) throws(CacheMiss) -> CompressedTensor {
        try Self.joined(content, name: name, elementType: elementType, shape: shape, codec: codec)
    }

    /// - Throws: A miss if the bytes cannot be such an encoding.
    static func joined(
        _ content: ByteView, name: String, elementType: ElementType, shape: Shape, codec: any WeightCodec
    ) throws(CacheMiss) -> CompressedTensor {
        var offset = 0
        var sections: [ByteView] = []
        for layout in codec.sections(elementType: elementType, shape: shape) {
            guard layout.byteCount <= content.count - offset else {
                throw CacheMiss(.malformedRecord("its content is too short for the codec"))
            }
            sections.append(content[offset..<offset + layout.byteCount])
            let rest = layout.byteCount % PackageFormat.sectionAlignment
            offset += layout.byteCount + (rest == 0 ? 0 : PackageFormat.sectionAlignment - rest)
        }
        guard offset == content.count else {
            throw CacheMiss(.malformedRecord("its content is too long for the codec"))
        }
        do {
            return try CompressedTensor(
                name: name, elementType: elementType, shape: shape, codec: codec, sections: sections)
        } catch {
            throw CacheMiss(.malformedRecord("\(error)"))
        }
    }
}
