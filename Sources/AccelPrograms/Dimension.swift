/// The size of one tensor dimension: a number, a named free dimension, or an expression over these, such as `2*frames`
/// or `heads*sequence`.
///
/// Stored in a canonical form (a sorted sum of products), so that equal expressions compare equal.
public struct Dimension: Hashable, Sendable {
    /// A product of atoms, sorted; the empty product is 1.
    struct Product: Hashable, Comparable, Sendable {
        var atoms: [Atom]
        static func < (left: Product, right: Product) -> Bool {
            left.atoms.map(\.description).lexicographicallyPrecedes(right.atoms.map(\.description))
        }
    }
    enum Atom: Hashable, Sendable, CustomStringConvertible {
        case name(String)
        /// floor(dividend / divisor), divisor > 0.
        indirect case quotient(Dimension, Int)

        var description: String {
            switch self {
            case .name(let name): name
            case .quotient(let dividend, let divisor): "(\(dividend))/\(divisor)"
            }
        }
    }
    /// Two cases for speed: a frozen program has numbers only, and shape rules over numbers allocate nothing.
    private enum Form: Hashable, Sendable {
        case number(Int)
        /// Nonzero coefficients by product; at least one product contains a free dimension.
        case sum([Product: Int])
    }
    private var form: Form

    /// Creates a size that is a number.
    public init(_ number: Int) { form = .number(number) }

    /// - Parameter terms: nonzero coefficients by product.
    private init(terms: [Product: Int]) {
        switch terms.count {
        case 0: form = .number(0)
        case 1: form = terms[Product(atoms: [])].map { .number($0) } ?? .sum(terms)
        default: form = .sum(terms)
        }
    }

    /// Nonzero coefficients by product.
    var terms: [Product: Int] {
        switch form {
        case .number(let number): number == 0 ? [:] : [Product(atoms: []): number]
        case .sum(let terms): terms
        }
    }

    /// Returns a size that is a number.
    public static func fixed(_ number: Int) -> Dimension { Dimension(number) }
    /// Returns a free dimension, such as `sequence`.
    public static func named(_ name: String) -> Dimension {
        Dimension(terms: [Product(atoms: [.name(name)]): 1])
    }

    /// The size as a number; nil while it contains a free dimension.
    public var value: Int? { if case .number(let number) = form { number } else { nil } }

    /// The name, if the size is a single free dimension; nil for numbers and larger expressions.
    public var name: String? {
        guard value == nil, terms.count == 1, let term = terms.first, term.value == 1, term.key.atoms.count == 1,
            case .name(let name)? = term.key.atoms.first
        else { return nil }
        return name
    }

    /// The names of the free dimensions in the expression.
    public var names: Set<String> {
        if value != nil { return [] }
        return terms.keys.reduce(into: []) { names, product in
            for atom in product.atoms {
                switch atom {
                case .name(let name): names.insert(name)
                case .quotient(let dividend, _): names.formUnion(dividend.names)
                }
            }
        }
    }

    /// Returns the number of the expression's only free dimension that gives it this size, the smallest one; nil if there is none, or
    /// if it has other free dimensions.
    /// - Parameter numbers: the dimensions that are not free.
    package func solved(for size: Int, besides numbers: [String: Int]) -> (name: String, number: Int)? {
        let open = binding(numbers)
        guard open.value == nil, open.names.count == 1, let name = open.names.first, size > 0 else { return nil }
        // Sizes grow with their dimensions.
        var (low, high) = (1, 1)
        func value(_ number: Int) -> Int { open.binding([name: number]).value ?? .max }
        while value(high) < size, high < 1 << 40 { high *= 2 }
        while low < high {
            let middle = (low + high) / 2
            if value(middle) < size { low = middle + 1 } else { high = middle }
        }
        return value(low) == size ? (name, low) : nil
    }

    /// The expression contains a rounded-down division of a free dimension.
    var hasQuotient: Bool {
        terms.keys.contains { product in
            product.atoms.contains { if case .quotient = $0 { true } else { false } }
        }
    }

    /// Returns the expression with free dimensions replaced by numbers. Saturates on overflow: no real size is that
    /// large.
    public func binding(_ numbers: [String: Int]) -> Dimension {
        if value != nil { return self }
        return terms.reduce(.fixed(0)) { sum, term in
            sum
                + term.key.atoms.reduce(.fixed(term.value)) { product, atom in
                    switch atom {
                    case .name(let name): product * (numbers[name].map(Dimension.fixed) ?? .named(name))
                    case .quotient(let dividend, let divisor): product * (dividend.binding(numbers) / divisor)
                    }
                }
        }
    }

    /// Returns the sum. Saturates on overflow.
    public static func + (left: Dimension, right: Dimension) -> Dimension {
        if let x = left.value, let y = right.value { return Dimension(saturating(x, y, Int.addingReportingOverflow)) }
        var terms = left.terms
        for (product, coefficient) in right.terms {
            terms[product] = saturating(terms[product] ?? 0, coefficient, Int.addingReportingOverflow)
        }
        return Dimension(terms: terms.filter { $0.value != 0 })
    }

    /// Returns the difference. Saturates on overflow.
    public static func - (left: Dimension, right: Dimension) -> Dimension { left + right * .fixed(-1) }

    /// Returns the product, expanded to a sum of products. Saturates on overflow.
    public static func * (left: Dimension, right: Dimension) -> Dimension {
        if let x = left.value, let y = right.value {
            return Dimension(saturating(x, y, Int.multipliedReportingOverflow))
        }
        var sum = Dimension.fixed(0)
        for (a, x) in left.terms {
            for (b, y) in right.terms {
                let atoms = (a.atoms + b.atoms).sorted { $0.description < $1.description }
                sum = sum + Dimension(terms: [Product(atoms: atoms): saturating(x, y, Int.multipliedReportingOverflow)])
            }
        }
        return sum
    }

    /// Returns the quotient, rounded down. Terms that `divisor` divides are taken out of the quotient, so
    /// `(6*frames+5)/6` is `frames`.
    /// - Precondition: `divisor` > 0.
    public static func / (left: Dimension, divisor: Int) -> Dimension {
        if let number = left.value { return Dimension(roundedDown(number, divisor)) }
        var (whole, rest) = (Dimension.fixed(0), Dimension.fixed(0))
        for (product, coefficient) in left.terms {
            let isNumber = product.atoms.isEmpty
            let quotient = isNumber || coefficient % divisor == 0 ? roundedDown(coefficient, divisor) : 0
            whole = whole + Dimension(terms: [product: quotient])
            rest = rest + Dimension(terms: [product: coefficient - quotient * divisor])
        }
        // If only a number is left, it is less than the divisor, and its quotient is 0.
        return rest.value == nil ? whole + Dimension(terms: [Product(atoms: [.quotient(rest, divisor)]): 1]) : whole
    }

    private static func roundedDown(_ number: Int, _ divisor: Int) -> Int {
        number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor)
    }

    private static func saturating(_ x: Int, _ y: Int, _ operation: (Int) -> (Int) -> (Int, Bool)) -> Int {
        let (result, overflow) = operation(x)(y)
        return overflow ? Int(Int32.max) << 30 : result
    }
}

extension Dimension: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, CustomStringConvertible {
    public init(integerLiteral value: Int) { self = .fixed(value) }
    public init(stringLiteral value: String) { self = .named(value) }

    public var description: String {
        if let value { return "\(value)" }
        return terms.sorted { $1.key < $0.key }.map { product, coefficient in
            let atoms = product.atoms.map(\.description)
            return (coefficient == 1 && !atoms.isEmpty ? atoms : ["\(coefficient)"] + atoms).joined(separator: "*")
        }.joined(separator: "+")
    }
}
