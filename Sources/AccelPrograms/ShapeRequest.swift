package import AccelByteIO

extension Diagnostic.Code {
    /// Dimensions of the model have no number. The candidates are shapes that give each one, all of which are needed.
    package static let dimensionsUnbound: Self = "dimensions-unbound"
    /// Inputs have other sizes than functions take. The candidates are the shapes of functions for them, all of which are needed; the
    /// subject is the file whose tensors have the sizes, if the shapes follow from it.
    package static let shapesDoNotFit: Self = "shapes-do-not-fit"
}

/// The bindings of a request, shared out among the parts of a model: a part takes the numbers of its own dimensions. Bindings that do
/// not contradict each other complete each other, so that each may be about a part of its own: `batch=1,frames=3000` of an encoder,
/// and `tokens=1,cache=448` of its decoder. One that stays incomplete takes the numbers that it lacks from those that contradict it
/// too: `tokens=1` after `batch=1,cache=448,tokens=4` is the step of the same decoder.
struct ShapeRequest {
    private let parts: [Program]
    /// The bindings of options, then the bindings of files.
    private let given: [ShapeBindings]

    /// - Parameter files: bindings that the inputs in files fit.
    init(_ options: [ShapeBindings], fitting files: [ShapeBindings] = [], for parts: [Program]) {
        given = options.isEmpty && files.isEmpty ? [ShapeBindings()] : options + files
        self.parts = parts
    }

    /// Dimensions of a part for which a binding of the request has no number, and none that completes it either.
    private struct Gap {
        let part: Program
        /// The index of the binding in the request.
        let index: Int
        let dimensions: [Program.FreeDimension]
    }

    /// Returns the bindings of each part, each once, with a number for every dimension.
    /// - Throws: `RequestError` with every dimension that has no number, and shapes that give all of them.
    func completed() throws -> [[ShapeBindings]] {
        var (complete, gaps) = ([[ShapeBindings]](), [Gap]())
        for part in parts {
            let own = given.map { $0.restricted(to: part) }
            // A binding of other dimensions is for another part, unless no binding is for this one.
            let isUnbound = own.allSatisfy(\.numbers.isEmpty)
            var found: [ShapeBindings] = []
            for (index, bindings) in own.enumerated() where !bindings.numbers.isEmpty || isUnbound && index == 0 {
                var completions = bindings.completions(among: own, count: part.dimensions.count)
                if completions.isEmpty {
                    completions = bindings.completions(
                        among: own + own.map { $0.without(bindings) }, count: part.dimensions.count)
                }
                found += completions.filter { !found.contains($0) }
                guard completions.isEmpty else { continue }
                let missing = part.dimensions.filter { bindings.numbers[$0.name] == nil }
                gaps.append(Gap(part: part, index: index, dimensions: missing))
            }
            complete.append(found)
        }
        guard gaps.isEmpty else {
            // What no number of the others could mend comes first.
            for bindings in given { try parts.forEach { try $0.requireLimits(of: bindings) } }
            throw try rejection(gaps)
        }
        return complete
    }

    /// - Throws: the error of numbers that contradict each other whatever is added to them.
    private func rejection(_ gaps: [Gap]) throws -> RequestError {
        let dimensions = Self.distinct(gaps)
        let names = dimensions.map { dimension in
            let owners = gaps.filter { $0.dimensions.contains { $0.name == dimension.name } }.map(\.part.name)
            return parts.count == 1
                ? dimension.name : "\(dimension.name) (of \(owners.distinct.joined(separator: ", ")))"
        }
        let shapes = try given.indices.flatMap { index in try self.shapes(index, gaps.filter { $0.index == index }) }
            .distinct
        return RequestError(
            "\(dimensions.count == 1 ? "dimension" : "dimensions") \(names.joined(separator: ", ")) "
                + "\(dimensions.count == 1 ? "has no number" : "have no number")",
            code: .dimensionsUnbound, candidates: shapes)
    }

    /// Returns shapes with a binding of the request and numbers for its gaps: those of other bindings, else the dimensions' defaults.
    private func shapes(_ index: Int, _ gaps: [Gap]) throws -> [String] {
        let candidates = Self.distinct(gaps).reduce([given[index].numbers]) { partial, dimension in
            let other = given.lazy.compactMap { $0.numbers[dimension.name] }.first
            let numbers = other.map { [$0] } ?? (dimension.defaults.isEmpty ? [1] : dimension.defaults)
            return partial.flatMap { all in numbers.map { all.merging([dimension.name: $0]) { own, _ in own } } }
        }.map { ShapeBindings($0) }
        // A default may contradict a given number, as a block of tokens that is longer than the cache does.
        let tried = candidates.map { candidate in
            Result {
                for gap in gaps { _ = try gap.part.freezing(candidate.restricted(to: gap.part)) }
                return "\(candidate)"
            }
        }
        let working = tried.compactMap { try? $0.get() }
        return working.isEmpty ? try tried.prefix(1).map { try $0.get() } : working
    }

    private static func distinct(_ gaps: [Gap]) -> [Program.FreeDimension] {
        gaps.flatMap(\.dimensions).reduce(into: []) { all, dimension in
            if !all.contains(where: { $0.name == dimension.name }) { all.append(dimension) }
        }
    }
}

extension ShapeBindings {
    /// Returns the numbers of a part's own dimensions.
    func restricted(to part: Program) -> ShapeBindings {
        let names = Set(part.dimensions.map(\.name))
        return ShapeBindings(numbers.filter { names.contains($0.key) })
    }

    /// Returns the numbers of dimensions that other bindings do not have.
    fileprivate func without(_ others: ShapeBindings) -> ShapeBindings {
        ShapeBindings(numbers.filter { others.numbers[$0.key] == nil })
    }

    /// Returns these bindings with further numbers of others that they do not contradict, as long as `count` numbers are not reached.
    /// - Returns: all that have so many numbers, each once; none if there are none.
    fileprivate func completions(among others: [ShapeBindings], count: Int) -> [ShapeBindings] {
        var (open, seen, complete) = ([self], Set([self]), [ShapeBindings]())
        var next = 0
        while next < open.count {
            let bindings = open[next]
            next += 1
            if bindings.numbers.count == count {
                complete.append(bindings)
                continue
            }
            for other in others {
                let joined = bindings.numbers.merging(other.numbers) { own, _ in own }
                let agrees = other.numbers.allSatisfy { joined[$0.key] == $0.value }
                if agrees, joined.count > bindings.numbers.count, seen.insert(ShapeBindings(joined)).inserted {
                    open.append(ShapeBindings(joined))
                }
            }
        }
        return complete
    }
}
