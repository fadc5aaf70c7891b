import {peerCommand, startPeer} from './peer-process.js'

/** Starts each peer once, so that one that is not there is told before anything runs. @throws {BACKEND_MISSING} */
export async function requirePeers(peers: readonly string[]): Promise<void> {
  for (const name of new Set(peers)) (await startPeer(peerCommand(name, 1))).stop()
}
