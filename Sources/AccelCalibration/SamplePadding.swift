import AccelByteIO
package import AccelPrograms
import AccelTensors

/// Padding in front of samples, for functions without a mask input.
///
/// A decoder counts positions from its first token, and each token sees those before it: text with padding in front is the same text
/// without it, as in transformers' `generate`. Convolutions of audio see no positions either. So the rows of such inputs start at the first
/// position that the mask shows, whichever side the padding was on.
extension SampleInputs {
    /// Returns the samples with the rows of tokens of decoders, and of audio, moved to the start where padding is in front of them.
    /// Inputs of a function with a mask input stay as they are, since the function reads the mask; so do tokens of an encoder without one,
    /// whose positions are the indices in the row.
    /// - Parameter interfaces: of all functions that take the samples.
    /// - Throws: `RequestError` for a mask that hides a position between shown ones, or with another shape than tokens.
    package func withoutLeadingPadding(for interfaces: some Sequence<Interface>) throws -> SampleInputs {
        let movable = Self.movable(interfaces)
        guard let mask = tensors[Self.maskName], mask.shape.rank == 2, !movable.isEmpty else { return self }
        let width = mask.shape.dimensions[1]
        var starts: [Int]?
        var moved = tensors
        for (name, kind) in movable.sorted(by: { $0.key < $1.key }) {
            guard let tensor = tensors[name] else { continue }
            if kind == .tokens { try requireMask(over: name) }
            guard tensor.shape == mask.shape else { continue }
            let all = try starts ?? self.starts(HostTensor(mask).flags, width: width)
            starts = all
            if all.contains(where: { $0 > 0 }) { moved[name] = tensor.rotatingRows(by: all) }
        }
        guard let starts, starts.contains(where: { $0 > 0 }) else { return self }
        moved[Self.maskName] = mask.rotatingRows(by: starts)
        return SampleInputs(moved, file: file)
    }

    /// The inputs whose rows may be moved: audio, and tokens of functions with a position input; none of a function that reads a mask.
    private static func movable(_ interfaces: some Sequence<Interface>) -> [String: RoleKind] {
        var (found, fixed): ([String: RoleKind], Set<String>) = ([:], [])
        for interface in interfaces {
            let kinds = Set(interface.inputs.values.map(\.kind))
            for (name, role) in interface.inputs {
                let isMovable =
                    !kinds.contains(.attentionMask)
                    && (role.kind == .audio || role.kind == .tokens && kinds.contains(.position))
                if isMovable { found[name] = role.kind } else { fixed.insert(name) }
            }
        }
        guard !fixed.contains(maskName) else { return [:] }
        return found.filter { !fixed.contains($0.key) }
    }

    /// Returns the first shown position of each row; 0 for a row without one.
    private func starts(_ flags: [Bool], width: Int) throws -> [Int] {
        try stride(from: 0, to: flags.count, by: max(width, 1)).map { start in
            let row = flags[start..<start + width]
            guard let first = row.firstIndex(of: true), let last = row.lastIndex(of: true) else { return 0 }
            if let hole = row[first...last].firstIndex(of: false) {
                throw RequestError(
                    "\(file): \"\(Self.maskName)\" hides position \(hole - start) of row \(start / width), between positions that it shows; "
                        + "expected padding at the ends of a row only")
            }
            return first - start
        }
    }
}

extension StoredTensor {
    /// Returns a matrix with the elements of each row rotated to the left: those in front follow the others.
    fileprivate func rotatingRows(by starts: [Int]) -> StoredTensor {
        let row = bytes.count / max(starts.count, 1)
        let element = row / max(shape.dimensions[1], 1)
        var rotated: [UInt8] = []
        rotated.reserveCapacity(bytes.count)
        for (index, start) in starts.enumerated() {
            let (first, end) = (index * row + start * element, (index + 1) * row)
            bytes[first..<end].withBytes { rotated.append(contentsOf: $0) }
            bytes[index * row..<first].withBytes { rotated.append(contentsOf: $0) }
        }
        return StoredTensor(name: name, elementType: elementType, shape: shape, bytes: ByteView(rotated), file: file)
    }
}
