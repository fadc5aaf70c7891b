#!/usr/bin/env node
// Runs a command where a separate Slurm can be started: node scripts/slurm.js COMMAND...
//
// Exit codes: 3 it is not to be had here, with a line on stderr that says why; else that of the command.
import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {delimiter, join} from 'node:path'

const UNAVAILABLE = 3
/** Debian: packages slurm-wlm and munge. */
const COMMANDS = ['slurmctld', 'slurmd', 'sbatch', 'squeue', 'scontrol', 'scancel', 'munged']

const path = [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].filter(Boolean).join(delimiter)
const reason = whyNot()
if (reason === undefined) {
  const [command, ...words] = process.argv.slice(2)
  const env = {...process.env, PATH: path, RFA_SLURM: '1'}
  process.exitCode = spawnSync(command, words, {stdio: 'inherit', env}).status ?? 1
} else {
  process.stderr.write(`rfa: no Slurm to run on: ${reason}\n`)
  process.exitCode = UNAVAILABLE
}

function whyNot() {
  if (process.platform !== 'linux') return `its daemons run on Linux, not on ${process.platform}`
  const missing = COMMANDS.filter(
    name => !path.split(delimiter).some(at => existsSync(join(at, name))),
  )
  if (missing.length > 0) {
    return `${missing.join(', ')} missing; try: apt-get install slurm-wlm munge`
  }
  if (process.getuid() !== 0) return 'its daemons are started as root'
  return undefined
}
