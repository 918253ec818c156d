/// The page's style sheet, light or dark as the reader's system.
package enum PageStyle {
    package static let text = """
        :root { --ground: #ffffff; --panel: #f6f7f9; --ink: #1b1f24; --soft: #5b6570; --rule: #dde1e6;
          --good: #1a7f4b; --bad: #c0322b; --warn: #9a6700; --blue: #2f6fde; --orange: #d9730d; --pale: #c9d6ee; color-scheme: light dark; }
        @media (prefers-color-scheme: dark) { :root { --ground: #14171b; --panel: #1d2126; --ink: #e6e9ed; --soft: #9aa4af;
          --rule: #343a42; --good: #4cc38a; --bad: #ff7b72; --warn: #e3b341; --blue: #6ea8fe; --orange: #ffa657; --pale: #34466b; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--ink);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        main { max-width: 1040px; margin: 0 auto; padding: 24px 20px 64px; }
        h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 8px; }
        p { margin: 4px 0 10px; } .soft { color: var(--soft); } code { font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
        .verdict { border-left: 6px solid var(--warn); background: var(--panel); padding: 14px 18px; border-radius: 4px; }
        .verdict.passed { border-color: var(--good); } .verdict.failed { border-color: var(--bad); }
        .verdict.passed h1 span { color: var(--good); } .verdict.failed h1 span { color: var(--bad); }
        .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 16px 0; }
        .figures div { background: var(--panel); border-radius: 4px; padding: 10px 14px; }
        .figures b { display: block; font-size: 20px; } .figures span { color: var(--soft); font-size: 13px; }
        table { border-collapse: collapse; width: 100%; font-size: 13px; } .scroll { overflow-x: auto; }
        th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
        th { color: var(--soft); font-weight: 600; white-space: nowrap; } td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
        td.name { overflow-wrap: anywhere; min-width: 180px; } .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
        svg { width: 100%; height: auto; display: block; } .pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(380px, 100%), 1fr)); gap: 16px; align-items: end; }
        .axis { fill: var(--soft); font-size: 11px; } .caption { font-size: 13px; margin: 0; overflow-wrap: anywhere; } .middle { text-anchor: middle; } .end { text-anchor: end; }
        .grid { stroke: var(--rule); stroke-width: 1; } .band { fill: var(--panel); } .bare { fill: transparent; }
        .propagated { fill: none; stroke: var(--orange); stroke-width: 1.8; stroke-linejoin: round; }
        .injected { fill: var(--blue); } .failed { fill: var(--bad); } .source { fill: var(--pale); } .stored { fill: var(--blue); }
        .key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin: 0 6px 0 14px; vertical-align: -1px; }
        .key.i { background: var(--blue); border-radius: 50%; } .key.p { background: var(--orange); height: 3px; vertical-align: 4px; }
        .key.s { background: var(--blue); } .key.o { background: var(--pale); }
        details { margin: 10px 0; } summary { cursor: pointer; color: var(--soft); }
        .narrow { display: none; } a { color: var(--blue); } g:hover .stored, circle:hover { opacity: 0.7; }
        @media (max-width: 640px) { .wide { display: none; } .narrow { display: block; } main { padding: 16px 20px 48px; }
          .figures { grid-template-columns: 1fr 1fr; }
          table, tbody, tr, td { display: block; } thead { display: none; }
          tr { padding: 8px 0; border-bottom: 1px solid var(--rule); }
          td, td.n { border: 0; padding: 1px 0; text-align: left; display: flex; justify-content: space-between; gap: 16px; white-space: normal; }
          td::before { content: attr(data-title); color: var(--soft); flex: none; } td:empty { display: none; }
          td.name { padding-bottom: 4px; min-width: 0; } td.name::before { content: none; } }
        @media print { details { display: block; } }

        """
}
