import AccelByteIO
import AccelPackages

/// A kind of result that the cache keeps whole: a package, an export, the statistics of a weight's inputs.
protocol CachedResult {
    /// The result as it is made, before anybody else sees it.
    associatedtype Draft
    associatedtype Product
    /// Finds the result of a key and puts it where it is wanted; nil where there is none.
    func find(_ key: CacheKey, in cache: Cache) throws -> Product?
    func store(_ draft: Draft, as key: CacheKey, in cache: Cache) throws
    /// What a product, or what the cache has under a key, is compared by; nil where results of this kind are not compared.
    func digest(of product: Product) -> Digest?
    func digest(under key: CacheKey, in cache: Cache) -> Digest?
}

extension CachedResult {
    func digest(of product: Product) -> Digest? { nil }
    func digest(under key: CacheKey, in cache: Cache) -> Digest? { nil }
}

/// A result that is looked for before it is made: the one place that takes, claims, compares and stores.
struct CachedBuild<Kind: CachedResult> {
    let kind: Kind
    let cache: Cache?
    /// nil: it is neither looked for nor kept.
    let key: CacheKey?
    /// It is made even where the cache has it.
    var isAnew = false
    /// Gets told whether what is made is what the cache has.
    var comparison: CacheComparison?

    init(_ kind: Kind, as key: CacheKey?, in cache: Cache?) {
        (self.kind, self.key, self.cache) = (kind, key, cache)
    }

    func find() throws -> Kind.Product? {
        guard let cache, let key else { return nil }
        return try kind.find(key, in: cache)
    }

    func store(_ draft: Kind.Draft) throws {
        guard let cache, let key else { return }
        try kind.store(draft, as: key, in: cache)
    }

    /// Takes the result where an earlier run has made it, or another process is about to; else makes it, stores it, and
    /// publishes it. It is stored first: what lies at a public path may be another's by then. Others that want the same
    /// wait meanwhile.
    func run(
        make: () throws -> Kind.Draft, publish: (Kind.Draft) throws -> Kind.Product
    ) throws -> (product: Kind.Product, cache: CacheOutcome) {
        var claim: CacheClaim?
        defer { claim?.release() }
        if !isAnew, let cache, let key {
            let (found, claimed) = try cache.take(key) { try kind.find(key, in: cache) }
            if let found { return (found, .hit) }
            claim = claimed
        }
        let draft = try make()
        var earlier: Digest?
        if comparison != nil, let cache, let key { earlier = kind.digest(under: key, in: cache) }
        try store(draft)
        let product = try publish(draft)
        if let earlier, let made = kind.digest(of: product) {
            comparison?.note("the package", isSame: earlier == made)
        }
        claim?.release()
        cache?.finish()
        return (product, cache == nil ? .off : .miss)
    }
}
