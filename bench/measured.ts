/** The program in a separate process, with its time and memory. */
import {spawnSync} from 'node:child_process'
import {join} from 'node:path'
import {packageRoot} from '../src/package.js'

/** How a process ended, and what it took. */
export interface Taken {
  seconds: number
  /** Peak resident bytes of the whole process. */
  peakBytes: number
  output: string
}

/** Runs the program and measures it. @throws {Error} where it fails */
export function measured(argv: readonly string[]): Taken {
  const began = performance.now()
  // a module that is loaded first prints the peak when the process ends
  const script = `process.on('exit',()=>process.stderr.write('\\npeak '+process.resourceUsage().maxRSS))`
  const preload = `data:text/javascript,${encodeURIComponent(script)}`
  const program = join(packageRoot(), 'bin', 'run.js')
  const args = ['--import', preload, program, ...argv]
  const {status, stdout, stderr} = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  const seconds = (performance.now() - began) / 1000
  const peak = /peak (\d+)$/.exec(stderr)
  if (status !== 0 || !peak) throw new Error(`rfa ${argv.join(' ')}: exit ${status}\n${stderr}`)
  return {seconds, peakBytes: 1024 * Number(peak[1]), output: stdout}
}
