#!/usr/bin/env node
// Compiles what changed, then runs it: never a stale build. Compiler output goes to stderr.
import {spawnSync} from 'node:child_process'
import {fileURLToPath} from 'node:url'

const build = fileURLToPath(new URL('../scripts/build.js', import.meta.url))
const {status} = spawnSync(process.execPath, [build], {stdio: ['ignore', 2, 2]})
if (status === 0) await import('./run.js')
else process.exitCode = status ?? 1
