CREATE TEMPORARY FUNCTION side_input AS 'streamlab.SideInput';
SELECT ts, auction, person AS bidder, price, side.`value`, src, `row`
FROM row_events, LATERAL TABLE(side_input({rows}, MOD(auction, {rows}))) AS side(`value`)
WHERE `type` = 2
