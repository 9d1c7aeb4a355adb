package streamlab.typed;

import java.util.Map;
import streamlab.Job;

/** The operators of each typed graph, by the names of their vertices in workloads/suite. */
final class Queries {
    private Queries() {}

    static Map<String, Operator> operators(Job job) {
        return switch (job.workload) {
            case "ad_enrichment" -> Map.of("enrich", new Enrich(job));
            case "user_activity" ->
                    Map.of("by_user", new UserActivity.ByUser(), "counting", new UserActivity(job));
            case "location_history" ->
                    Map.of("by_location", new LocationHistory.Locate(job), "history", new LocationHistory());
            case "campaign_views" ->
                    Map.of("views", new Views(job), "counting", new SlidingViews(job));
            case "campaign_views_tumbling" ->
                    Map.of("views", new Views(job), "counting", new TumblingViews(job));
            case "user_clusters" ->
                    Map.of(
                            "locate", new UserClusters.Locate(job),
                            "features", new UserClusters.Features(job),
                            "clusters", new UserClusters(job));
            case "smart_home_prediction" ->
                    Map.of(
                            "JFM", new SmartHomes.JoinFilterMap(job),
                            "LI", new SmartHomes.Interpolate(job),
                            "Map", new SmartHomes.ByDevice(),
                            "AVG", new SmartHomes.Average(job),
                            "Predict", new SmartHomes.Predict(job));
            default -> throw new IllegalArgumentException("no typed graph " + job.workload);
        };
    }
}
