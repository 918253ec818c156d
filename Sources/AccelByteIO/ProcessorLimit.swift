import CAccelKernels

/// `$ACCELC_CPU`: the best instruction set that kernels may use.
public enum ProcessorLimit {
    private static let variable = "ACCELC_CPU"

    #if arch(x86_64)
        private static let sets = [CK_SCALAR.rawValue...CK_SCALAR.rawValue, CK_AVX2.rawValue...CK_AMX.rawValue]
    #else
        private static let sets = [CK_SCALAR.rawValue...CK_NEON_BF16.rawValue]
    #endif

    /// The names of the sets that processors of this architecture may have.
    private static let names = sets.joined().compactMap { ck_isa_name(ck_isa($0)).map { String(cString: $0) } }

    /// Checks the variable, which kernels read without a word.
    /// - Throws: `RequestError` (usage) if it names no set of this architecture.
    public static func checkVariable() throws(RequestError) {
        guard let text = ProcessEnvironment.text(variable), !names.contains(text) else { return }
        throw RequestError(
            "$\(variable) is \(quoted(text)): set it to \(names.dropLast().joined(separator: ", ")) or \(names.last ?? ""), or leave it "
                + "unset" + suggestion(for: text, among: names))
    }
}
