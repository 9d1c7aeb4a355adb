package streamlab;

import java.rmi.Remote;
import java.rmi.RemoteException;
import java.util.concurrent.Semaphore;

/**
 * Synchronizes tasks outside Flink: the leaves of a tree join their states, and its root updates
 * the joined state and forks it to the leaves (DGS paper, section 4.3 and figure 7).
 *
 * <p>All trees have the same number of leaves. For every synchronizing event of a tree, in the same
 * order everywhere, each leaf calls `join` and the root calls `gather`, then `fork`.
 */
interface ForkJoin extends Remote {
    /** Passes a leaf's state to the root, waits for the fork, and returns the leaf's new state. */
    long join(int tree, int leaf, long state) throws RemoteException, InterruptedException;

    /** Waits until all leaves of a tree have joined, and returns their states. */
    long[] gather(int tree) throws RemoteException, InterruptedException;

    /** Releases all leaves with this state. */
    void fork(int tree, long state) throws RemoteException;

    /** Two semaphores for each leaf of each tree, as in the paper. */
    final class Service implements ForkJoin {
        /** Released by a leaf when its state is ready, and acquired by the root. */
        private final Semaphore[][] joined;

        /** Released by the root when the new state is ready, and acquired by the leaf. */
        private final Semaphore[][] forked;
        /** Written by a leaf before it releases `joined`, read by the root after it acquired it. */
        private final long[][] leafStates;
        /** Written by the root before it releases `forked`, read by the leaf after it acquired it. */
        private final long[] rootStates;

        Service(int trees, int leaves) {
            joined = new Semaphore[trees][leaves];
            forked = new Semaphore[trees][leaves];
            leafStates = new long[trees][leaves];
            rootStates = new long[trees];
            for (int tree = 0; tree < trees; tree++) {
                for (int leaf = 0; leaf < leaves; leaf++) {
                    joined[tree][leaf] = new Semaphore(0);
                    forked[tree][leaf] = new Semaphore(0);
                }
            }
        }

        @Override
        public long join(int tree, int leaf, long state) throws InterruptedException {
            leafStates[tree][leaf] = state;
            joined[tree][leaf].release();
            forked[tree][leaf].acquire();
            return rootStates[tree];
        }

        @Override
        public long[] gather(int tree) throws InterruptedException {
            for (Semaphore leaf : joined[tree]) {
                leaf.acquire();
            }
            return leafStates[tree].clone();
        }

        @Override
        public void fork(int tree, long state) {
            rootStates[tree] = state;
            for (Semaphore leaf : forked[tree]) {
                leaf.release();
            }
        }
    }
}
