import AccelPrograms
import AccelTensors

extension ImportRule {
    static let resizing: [ImportRule] = [
        ImportRule(
            "upsample_nearest_neighbor", reads: ["x", "scale_factor_height", "scale_factor_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(scaledSizes(call), nearest: true, sampling: nil)
        },
        ImportRule(
            "upsample_bilinear",
            reads: ["align_corners", "half_pixel_centers", "x", "scale_factor_height", "scale_factor_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            let aligned = try call.flag("align_corners", true)
            let centred = try call.flag("half_pixel_centers", !aligned)
            let sampling = aligned ? "STRICT_ALIGN_CORNERS" : centred ? "UNALIGN_CORNERS" : "ORIGIN"
            return try call.resized(scaledSizes(call), nearest: false, sampling: sampling)
        },
        ImportRule(
            "resize_nearest_neighbor", reads: ["x", "target_size_height", "target_size_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(targetSizes(call), nearest: true, sampling: nil)
        },
        ImportRule(
            "resize_bilinear", reads: ["sampling_mode", "x", "target_size_height", "target_size_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(targetSizes(call), nearest: false, sampling: call.word("sampling_mode", "DEFAULT"))
        },
        ImportRule(
            "resize", reads: ["x", "shape", "resized_dims", "interpolation_mode", "sampling_mode"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self], since: .iOS17
        ) { call in
            let (extents, shape) = (try call.extents(of: call.one("x")), try call.integers("shape"))
            let count = try call.integer("resized_dims")
            guard (0...min(shape.count, extents.count)).contains(count) else {
                throw MILCall.Problem(reason: "\(count) resized axes do not fit \(extents)")
            }
            let sizes = zip(shape.suffix(count), extents.suffix(count)).map { $0 == 0 ? $1 : $0 }
            let isNearest = try call.word("interpolation_mode", "LINEAR") == "NEAREST_NEIGHBOR"
            let sampling = try call.word("sampling_mode", "DEFAULT")
            return try call.resized(sizes, nearest: isNearest, sampling: isNearest ? nil : sampling)
        },
    ]

    private static func scaledSizes(_ call: MILCall) throws -> [Int] {
        let extents = try call.extents(of: call.one("x"))
        let factors = [try call.number("scale_factor_height", 1), try call.number("scale_factor_width", 1)]
        return try zip(extents.suffix(2), factors).map { extent, factor in
            guard let size = Int(exactly: (Double(extent) * factor).rounded(.down)), size >= 1 else {
                throw MILCall.Problem(reason: "cannot scale \(extent) by \(factor)")
            }
            return size
        }
    }

    private static func targetSizes(_ call: MILCall) throws -> [Int] {
        [try call.integer("target_size_height", 1), try call.integer("target_size_width", 1)]
    }
}

extension MILCall {
    /// Resizes the last axes of `x` to `sizes`, one after the other.
    fileprivate mutating func resized(_ sizes: [Int], nearest: Bool, sampling: String?) throws -> MILArgument {
        var x = try one("x")
        let rank = try extents(of: x).count
        guard rank >= sizes.count, sizes.allSatisfy({ (1...1 << 24).contains($0) }) else {
            throw Problem(reason: "cannot make the last axes \(sizes)")
        }
        for (axis, size) in zip(rank - sizes.count..<rank, sizes) {
            let extent = try extents(of: x)[axis]
            guard (1...1 << 32).contains(extent) else { throw Problem(reason: "cannot resize \(extent) elements") }
            let sources = try (0..<size).map { index -> (Int, Double) in
                if nearest { return (min(index * extent / size, extent - 1), 0) }
                let place = try Self.place(index, of: size, in: extent, sampling ?? "DEFAULT")
                return (min(Int(place), extent - 1), place - Double(min(Int(place), extent - 1)))
            }
            let resize = HostOperation(
                "resize \(axis) \(size) \(sampling ?? "nearest")",
                type: { types in
                    var type = types[0]
                    type.dimensions[axis] = .fixed(size)
                    return type
                },
                { inputs in
                    let extents = inputs[0].shape.dimensions
                    let (outer, inner) = (extents[..<axis].reduce(1, *), extents[(axis + 1)...].reduce(1, *))
                    let x = inputs[0].floats
                    var result: [Float] = []
                    for o in 0..<outer {
                        for (lower, weight) in sources {
                            let (a, b) = (
                                (o * extent + lower) * inner, (o * extent + min(lower + 1, extent - 1)) * inner
                            )
                            for i in 0..<inner {
                                let value = Double(x[a + i])
                                result.append(
                                    weight == 0 ? x[a + i] : Float(value + weight * (Double(x[b + i]) - value)))
                            }
                        }
                    }
                    var shape = inputs[0].shape
                    shape.dimensions[axis] = size
                    return HostTensor(result, shape)
                }
            ).becoming { call, operands in
                let lower = try call.gathered(operands[0], axis, sources.map(\.0))
                guard sources.contains(where: { $0.1 != 0 }) else { return lower }
                let upper = try call.gathered(operands[0], axis, sources.map { min($0.0 + 1, extent - 1) })
                let along = (0..<rank).map { $0 == axis ? size : 1 }
                let shares = call.known(HostTensor(sources.map { Float($0.1) }, Shape(along)))
                let difference = try call.apply(Subtract(), [upper, lower])
                return try call.apply(Add(), [lower, try call.apply(Multiply(), [difference, shares])])
            }
            if size != extent || sampling == "OFFSET_CORNERS" { x = try apply(resize, [x]) }
        }
        return x
    }

    /// Returns the source position of element `index` of `size`, by Core ML's sampling modes.
    private static func place(_ index: Int, of size: Int, in extent: Int, _ mode: String) throws -> Double {
        let (i, length, room) = (Double(index), Double(size), Double(extent))
        let place: Double
        switch mode {
        case "STRICT_ALIGN_CORNERS": place = size == 1 ? 0 : i * (room - 1) / (length - 1)
        case "ALIGN_CORNERS": place = size == 1 ? (room - 1) / 2 : i * (room - 1) / (length - 1)
        case "DEFAULT": place = size == 1 ? 0 : i * (room - room / length) / (length - 1)
        case "OFFSET_CORNERS":
            let delta = max(1, room - 1) / length
            place = 0.5 * delta + i * delta
        case "UNALIGN_CORNERS": place = (i + 0.5) * room / length - 0.5
        case "ORIGIN": place = i * room / length
        default: throw Problem(reason: "unknown sampling mode \(mode)")
        }
        return min(room - 1, max(0, place))
    }
}
