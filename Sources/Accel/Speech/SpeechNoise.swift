import AccelPrograms

extension FunctionDescription.Port {
    /// The numbers of a port of noise, in row-major order, by its distribution. The same seed gives the same numbers.
    /// - Parameter first: the element of an endless noise that the port begins with; elements before 0 are 0.
    func noise(seed: UInt64, from first: Int = 0) -> [Float] {
        let stream = SeededStream(seed: seed, name: name)
        let isUniform = role.word("distribution") == Role.Distribution.uniform.rawValue
        return (first..<first + shape.count).map { index in
            guard index >= 0 else { return 0 }
            return isUniform ? Float(stream.integer(index, below: 1 << 24)) / Float(1 << 24) : stream.normal(index)
        }
    }
}
