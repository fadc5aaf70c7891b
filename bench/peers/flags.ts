/** The flags of bench:peers. */
import {availableParallelism} from 'node:os'
import {parseArgs} from 'node:util'
import {PEERS, type PeerName} from './environment.js'

/** What is to be done. */
export interface Request {
  quick: boolean
  peers: readonly PeerName[]
  threads: readonly number[]
  /** That each form is timed, in all of its processes. */
  seconds: number
  output: string
  /** Part of the names of cases; empty: all. */
  filter: string
}

/** @throws {Error} with a sentence on what was expected */
export function readFlags(args: readonly string[]): Request {
  const {values, positionals} = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: {type: 'boolean', default: false},
      peers: {type: 'string', default: PEERS.join(',')},
      threads: {type: 'string', default: availableParallelism() > 1 ? '1,2' : '1'},
      seconds: {type: 'string'},
      output: {type: 'string', default: 'results/reference/peers.json'},
    },
  })
  const {quick, output} = values
  const seconds = Number(values.seconds ?? (quick ? 0.1 : 1))
  if (!(seconds > 0))
    throw new Error(`--seconds: expected a positive number, got ${values.seconds}`)
  const threads = values.threads.split(',').map(Number)
  const most = availableParallelism()
  if (!threads.every(count => Number.isInteger(count) && count >= 1 && count <= most)) {
    throw new Error(`--threads: expected whole numbers from 1 to ${most}, got ${values.threads}`)
  }
  const peers = values.peers.split(',').map(text => {
    const name = PEERS.find(peer => peer === text)
    if (name) return name
    throw new Error(`--peers: expected some of ${PEERS.join(', ')}, got ${text}`)
  })
  return {quick, output, seconds, threads, peers, filter: positionals.join(' ')}
}
