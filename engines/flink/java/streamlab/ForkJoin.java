package streamlab;

import java.rmi.Remote;
import java.rmi.RemoteException;
import java.util.concurrent.Semaphore;

/**
 * Synchronization between tasks, beside Flink: the leaves of a tree join their states, its root
 * works on them, and forks what each goes on with (DGS paper, section 4.3 and figure 7).
 *
 * <p>Each tree has as many leaves as the service was made for. A leaf calls `join` and the root
 * `gather`, then `fork`, once for every synchronizing event of the tree, all in the same order.
 */
interface ForkJoin extends Remote {
    /** Gives a leaf's state to the root, waits until the root has forked, and returns the leaf's. */
    long join(int tree, int leaf, long state) throws RemoteException, InterruptedException;

    /** Waits until all leaves of a tree have joined, and returns their states. */
    long[] gather(int tree) throws RemoteException, InterruptedException;

    /** Lets all leaves go on, with this state. */
    void fork(int tree, long state) throws RemoteException;

    /** Two semaphores for each leaf of each tree, as in the paper. */
    final class Service implements ForkJoin {
        /** Held by a leaf that is ready to be joined, and by one that may go on. */
        private final Semaphore[][] joined;

        private final Semaphore[][] forked;
        /** Written by a leaf before it releases `joined`, read by the root after it acquired it. */
        private final long[][] ofLeaf;
        /** Written by the root before it releases `forked`, read by the leaf after it acquired it. */
        private final long[] ofRoot;

        Service(int trees, int leaves) {
            joined = new Semaphore[trees][leaves];
            forked = new Semaphore[trees][leaves];
            ofLeaf = new long[trees][leaves];
            ofRoot = new long[trees];
            for (int tree = 0; tree < trees; tree++) {
                for (int leaf = 0; leaf < leaves; leaf++) {
                    joined[tree][leaf] = new Semaphore(0);
                    forked[tree][leaf] = new Semaphore(0);
                }
            }
        }

        @Override
        public long join(int tree, int leaf, long state) throws InterruptedException {
            ofLeaf[tree][leaf] = state;
            joined[tree][leaf].release();
            forked[tree][leaf].acquire();
            return ofRoot[tree];
        }

        @Override
        public long[] gather(int tree) throws InterruptedException {
            for (Semaphore leaf : joined[tree]) {
                leaf.acquire();
            }
            return ofLeaf[tree].clone();
        }

        @Override
        public void fork(int tree, long state) {
            ofRoot[tree] = state;
            for (Semaphore leaf : forked[tree]) {
                leaf.release();
            }
        }
    }
}
