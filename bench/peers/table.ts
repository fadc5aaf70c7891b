/** The comparison with peers as text. */
import {type Block, type ColumnSpec, list, table, text} from '../../src/report/document.js'
import {nanoseconds, percent, plural, ratio} from '../../src/report/numbers.js'
import {renderTerminal} from '../../src/report/terminal.js'
import type {EngineTimes, PeerRow, PeersReport} from './report.js'

/** Load average from which figures are to be doubted. */
const BUSY = 1
const LAYOUT = {width: 160, colour: false}
/** Peers with a separate column; packages share one. */
const FRAMEWORKS = ['torch', 'jax', 'onnxruntime']
/** L of the short table, which has one thread only. */
const SHORT_LENGTH = 2048

/** Everything that was measured. */
export function peersText(report: PeersReport): string {
  return renderTerminal(
    [
      ...header(report),
      ...(report.rows.length > 0 ? [tableOf(report, report.rows)] : []),
      ...notes(report),
    ],
    LAYOUT,
  )
}

/** One thread, one length and the decoders. */
export function shortTable(report: PeersReport): Block {
  const short = report.rows.filter(
    ({kind, tokens, threads}) => threads === 1 && (kind === 'decode' || tokens === SHORT_LENGTH),
  )
  return tableOf(report, short)
}

/** Bidirectional calls of the short table, of methods that frameworks have, without packages. */
export function fewestTable(report: PeersReport): Block {
  const frameworks = report.peers.filter(({peer}) => FRAMEWORKS.includes(peer))
  const rows = report.rows.filter(
    ({kind, causal, tokens, threads, engines}) =>
      kind === 'attention' &&
      !causal &&
      tokens === SHORT_LENGTH &&
      threads === 1 &&
      engines.some(({engine}) => FRAMEWORKS.includes(engine)),
  )
  return tableOf({peers: frameworks}, rows, ['method', 'rfa'])
}

/** The cases that a peer wins, each with the fastest form of all peers. */
export function faster({rows}: PeersReport): string[] {
  return rows.flatMap(row => {
    const [first] = row.engines
      .filter(({engine, over_rfa}) => engine !== 'rfa' && over_rfa < 1)
      .toSorted((a, b) => a.over_rfa - b.over_rfa)
    return first ? [wonText(row, first)] : []
  })
}

function wonText(row: PeerRow, {engine, form, over_rfa}: EngineTimes): string {
  return `${labelOf(row)}: ${engine} ${form} ${ratio(over_rfa)}`
}

/** Peers with their versions. */
export function versionsOf({peers}: Pick<PeersReport, 'peers'>): string {
  const versions = Object.entries(Object.assign({}, ...peers.map(peer => peer.versions)))
  return versions.map(([name, version]) => `${name} ${version}`).join(', ') || 'none'
}

/** Where, with what, and what speaks against it. */
function header({machine, peers, complete, load_average: load}: PeersReport): Block[] {
  const python = peers[0] ? `, Python ${peers[0].python}` : ''
  const sentences = [
    `${machine.cpu}${machine.instruction_set ? ` (${machine.instruction_set})` : ''}, rfa ${machine.rfa} at ${machine.commit ?? 'no commit'}, Node ${machine.node}${python}.`,
    `Peers: ${versionsOf({peers})}.`,
    'Times are the fastest of all runs, of one token for decoders; of a peer that of its fastest form, over that of rfa: below 1x it is faster than rfa.',
    ...(complete ? [] : ['Interrupted: not all cases were timed.']),
    ...(load.before > BUSY ? [`Other programs were running: load ${load.before.toFixed(1)}.`] : []),
  ]
  return sentences.map(text)
}

/** @param facts - which columns stand before those of peers; all of them by default */
function tableOf(
  {peers}: Pick<PeersReport, 'peers'>,
  rows: readonly PeerRow[],
  facts?: readonly string[],
): Block {
  const names = peers.map(({peer}) => peer)
  const packages = names.filter(name => !FRAMEWORKS.includes(name))
  const first: ColumnSpec<PeerRow>[] = [
    {title: 'method', align: 'left', cell: row => nameOf(row)},
    {title: 'tokens', cell: row => `${row.tokens}`},
    {title: 'threads', cell: row => `${row.threads}`},
    {title: 'rfa', cell: row => nanoseconds(fastestOf(row, ['rfa'])?.min_ns ?? null)},
    {title: '% of peak', cell: row => percent(fastestOf(row, ['rfa'])?.peak_pct ?? null)},
  ]
  const columns: ColumnSpec<PeerRow>[] = [
    ...first.filter(({title}) => facts?.includes(title) ?? true),
    ...names
      .filter(name => FRAMEWORKS.includes(name))
      .map(name => ({title: name, cell: (row: PeerRow) => timesOver(fastestOf(row, [name]))})),
    ...(packages.length > 0
      ? [{title: 'packages', cell: (row: PeerRow) => timesOver(fastestOf(row, packages))}]
      : []),
  ]
  return table(columns, rows)
}

/** The cases that a peer wins, what was left out, and who is missing. */
function notes(report: PeersReport): Block[] {
  const {rows, missing} = report
  const losses = faster(report)
  const left = rows.flatMap(row =>
    row.left_out.map(({engine, form, reason}) => `${labelOf(row)}: ${engine} ${form}: ${reason}`),
  )
  return [
    text(losses.length === 0 ? 'No peer is faster in any case.' : 'Cases where a peer is faster:'),
    ...list(losses),
    ...(left.length > 0 ? [text('Not timed:'), ...list(left)] : []),
    ...(missing.length > 0 ? [text('Peers that could not be had:')] : []),
    ...list(missing.map(({peer, reason}) => `${peer}: ${reason}`)),
  ]
}

/** The fastest form of some engines. */
function fastestOf(row: PeerRow, engines: readonly string[]): EngineTimes | undefined {
  return row.engines.find(({engine}) => engines.includes(engine))
}

function timesOver(times: EngineTimes | undefined): string {
  return times ? `${ratio(times.over_rfa)} ${times.form}` : ''
}

function nameOf({kind, method, causal}: Pick<PeerRow, 'kind' | 'method' | 'causal'>): string {
  if (kind === 'decode') return `${method} decode`
  return causal ? `${method} causal` : method
}

/** What distinguishes a case from the others with its number of threads. */
export function caseText(row: Pick<PeerRow, 'kind' | 'method' | 'causal' | 'tokens'>): string {
  return `${nameOf(row)}, ${row.tokens} tokens`
}

function labelOf(row: PeerRow): string {
  return `${caseText(row)}, ${plural(row.threads, 'thread')}`
}
